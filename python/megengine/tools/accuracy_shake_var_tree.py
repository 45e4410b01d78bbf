# SPDX-License-Identifier: Apache-2.0
"""Finds where values begin to differ, from the output of MegEngine's ``compare_binary_iodump``.

python -m megengine.tools.accuracy_shake_var_tree differences.txt

``mge-dump iodiff`` compares dumps and reports such roots itself.
"""

import argparse
import re
import sys

from ..files.opening import open_input


class varNode:
    """A value that differs, or an input of such a value.

    Args:
        id: its printed form, ``id:7``.
        dependence_list: ids of its inputs; empty for a value that only others name.
        src_info: the printed difference.
    Example:
        >>> [node.id for node in varNode("id:7", ["id:3"], "").dependence_list]
        ['id:3']
        >>> node = varNode.get_varNode("id:7")
        >>> [each.id for each in node.get_dependence_list()], node.get_reference_list()
        (['id:3'], [])
        >>> node.show_src_info()
        <BLANKLINE>
    """

    var_node_dict: dict[str, "varNode"] = {}
    var_node_root_dict: dict[str, "varNode"] = {}

    def __init__(self, id: str, dependence_list: list[str], src_info: str):
        known = varNode.var_node_dict.get(id)
        self.id = id
        self.src_info = src_info
        self.reference_list: list[varNode] = known.reference_list if known else []
        varNode.var_node_dict[id] = self
        self.dependence_list = [
            varNode.var_node_dict.get(name) or varNode(name, [], "") for name in dependence_list
        ]
        for node in self.dependence_list:
            node.reference_list.append(self)
        for user in self.reference_list:
            user.dependence_list = [self if n.id == id else n for n in user.dependence_list]
            varNode.var_node_root_dict.pop(user.id, None)
        if src_info and not any(node.src_info for node in self.dependence_list):
            varNode.var_node_root_dict[id] = self

    @staticmethod
    def get_varNode(id: str) -> "varNode":
        """The value of an id.

        Raises:
            KeyError: no difference was printed for it.
        """
        return varNode.var_node_dict[id]

    def get_dependence_list(self) -> list["varNode"]:
        """The values that it is computed of."""
        return self.dependence_list

    def get_reference_list(self) -> list["varNode"]:
        """The values that are computed from it."""
        return self.reference_list

    def show_src_info(self) -> None:
        """Print the recorded difference."""
        print(self.src_info)


def get_dependence(string: str, src_info: str) -> None:
    """Note a value that differs.

    Args:
        string: its description: its own id, and those of its inputs.
        src_info: the printed difference.
    Raises:
        ValueError: there is no id in it.
    Example:
        >>> get_dependence("var={id:9 ...} inputs=[id:4, id:5]", "")
        >>> [node.id for node in varNode.get_varNode("id:9").dependence_list]
        ['id:4', 'id:5']
    """
    ids = re.findall(r"\bid:\d+", string)
    if not ids:
        raise ValueError(f"[get_dependence] no id: in {string!r}")
    varNode(ids[0], ids[1:], src_info)


def parse(filename) -> dict[str, varNode]:
    """Read the printed differences.

    Args:
        filename: path of a text file.
    Returns:
        By id, the values that differ although their inputs do not.
    Raises:
        OSError: it cannot be read.
    Example:
        >>> with open("differences.txt", "w") as file:
        ...     print("var={id:2, inputs: id:1}", "not equal: 0.5", sep=chr(10), file=file)
        >>> list(parse("differences.txt"))
        ['id:2']
    """
    varNode.var_node_dict.clear()
    varNode.var_node_root_dict.clear()
    described: list[str] = []
    with open_input(filename) as file:
        for line in file.read().decode(errors="replace").splitlines():
            if "not equal: " in line:
                if described:
                    get_dependence(described[0], "\n".join([*described, line]))
                described = []
            elif "var={id:" in line:
                described.append(line.strip())
            elif described:
                described[-1] += line.strip()
    return varNode.var_node_root_dict


def main() -> None:
    """Run the tool with this program's command line.

    Raises:
        SystemExit: the command line is wrong, or the file cannot be read.
    Example:
        >>> import subprocess, sys
        >>> command = [sys.executable, "-m", "megengine.tools.accuracy_shake_var_tree", "--help"]
        >>> subprocess.run(command, check=True, capture_output=True, text=True).stdout[:6]
        'usage:'
    """
    parser = argparse.ArgumentParser(description="find the values where accuracy is lost")
    parser.add_argument("filename", help="output of compare_binary_iodump")
    args = parser.parse_args()
    try:
        roots = parse(args.filename)
    except OSError as error:
        sys.exit(f"accuracy_shake_var_tree: {error}")
    print("varnode root:")
    for name, node in roots.items():
        print(name)
        print("detail info:")
        node.show_src_info()


if __name__ == "__main__":
    main()
