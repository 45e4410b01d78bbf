# SPDX-License-Identifier: Apache-2.0
"""mge-dump: its command line, and doctor."""

TOOL = "mge-dump"


def test_doctor(run_tool):
    ran = run_tool(TOOL, "doctor")
    assert ran.code == 0
    facts = {f["name"]: f for f in ran.result["machine"]}
    assert {"isa", "threads", "huge_pages", "libraries", "gpu", "memory"} <= set(facts)
    assert "oneDNN" in facts["libraries"]["found"] and "libgomp" in facts["libraries"]["found"]
    for fact in facts.values():
        assert fact["state"] == "ok" or fact["advice"]


def test_doctor_sees_limits(run_tool):
    ran = run_tool(TOOL, "doctor", env={"MGE_ISA": "sse4", "MGE_THREADS": "1"})
    facts = {f["name"]: f for f in ran.result["machine"]}
    assert facts["isa"]["state"] == "limited" and "MGE_ISA=sse4" in facts["isa"]["advice"]
    ran = run_tool(TOOL, "doctor", "--require", "isa,cpu", env={"MGE_ISA": "sse4"})
    assert ran.code == 4 and ran.report["error"]["kind"] == "device" and "result" in ran.report
    assert run_tool(TOOL, "doctor", "--require", "cpu").code == 0
    ran = run_tool(TOOL, "doctor", "--require", "warp_drive")
    assert ran.code == 2 and "threads" in ran.err


# The command line


def test_commands(run_tool, image_model):
    ran = run_tool(TOOL)
    assert ran.code == 2 and "a command is missing" in ran.err and "doctor" in ran.err
    ran = run_tool(TOOL, "inof", image_model)
    assert ran.code == 2 and "did you mean 'info'?" in ran.err
    ran = run_tool(TOOL, "info", image_model, "--parms")
    assert ran.code == 2 and "did you mean '--params'?" in ran.err
    ran = run_tool(TOOL, "info", image_model, "graph")
    assert ran.code == 2 and "no further argument 'graph'" in ran.err


def test_globals_before_and_after_the_command(run_tool, image_model):
    assert run_tool(TOOL, "--quiet", "info", image_model).out == ""
    assert run_tool(TOOL, "info", "--quiet", image_model).out == ""
    for command in ([], ["info"]):
        ran = run_tool(TOOL, *command, "--help", json=False)
        assert ran.code == 0 and "--json" in ran.out or "Global options" in ran.out
