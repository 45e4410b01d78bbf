// SPDX-License-Identifier: Apache-2.0
#include "steady_state/system_call_counter.h"

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <set>
#include <string_view>

namespace mge::steady_state {
namespace {

// A call that neither we nor the libraries make otherwise.
constexpr long mark_number = SYS_getsid;
constexpr int system_call_stop = SIGTRAP | 0x80;
constexpr int cannot_trace_status = 77;

[[noreturn]] void become_child(const std::vector<std::string>& arguments) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr)) _exit(cannot_trace_status);
    std::vector<char*> argv{const_cast<char*>("/proc/self/exe")};
    for (auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    execv("/proc/self/exe", argv.data());
    _exit(cannot_trace_status);
}

struct Tracer {
    explicit Tracer(pid_t pid) : child(pid) {}

    pid_t child;
    int marks = 0;
    std::set<pid_t> looking;  // threads that read a file of /proc
    SystemCalls result;

    bool opens_proc(unsigned long long address) const {
        constexpr std::string_view folder = "/proc/";
        char path[folder.size()];
        iovec here{path, sizeof path}, there{reinterpret_cast<void*>(address), sizeof path};
        ssize_t size = process_vm_readv(child, &here, 1, &there, 1, 0);
        return size == ssize_t(sizeof path) && std::string_view(path, sizeof path) == folder;
    }

    void at_call(pid_t thread) {
        __ptrace_syscall_info info{};
        if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info) < 0) return;
        if (info.op != PTRACE_SYSCALL_INFO_ENTRY) return;
        const long number = long(info.entry.nr);
        if (number == mark_number && thread == child) {
            ++marks;
        } else if (marks == 1) {
            if (number == SYS_futex || number == SYS_restart_syscall) {  // a wait that a stop cut in two
                ++result.waits;
            } else if (number == SYS_sched_getaffinity || number == SYS_sched_setaffinity) {
                ++result.moves;
            } else if (number == SYS_openat && opens_proc(info.entry.args[1])) {
                looking.insert(thread);
                ++result.looks;
            } else if (looking.contains(thread)) {
                if (number == SYS_close) looking.erase(thread);
            } else {
                ++result.count;
                ++result.by_number[number];
            }
        }
    }

    // Returns the signal to deliver.
    int at_stop(pid_t thread, int status) {
        int signal = WSTOPSIG(status);
        if (signal == system_call_stop) {
            at_call(thread);
            return 0;
        }
        bool is_event = status >> 16 != 0;
        bool is_start = signal == SIGTRAP || signal == SIGSTOP;  // exec, or the first stop of a new thread
        return is_event || is_start ? 0 : signal;
    }

    void run() {
        int status = 0;
        waitpid(child, &status, 0);
        if (!WIFSTOPPED(status)) {
            result.is_forbidden = true;
            return;
        }
        ptrace(PTRACE_SETOPTIONS, child, nullptr,
               PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL);
        ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
        for (;;) {
            pid_t thread = waitpid(-1, &status, __WALL);
            if (thread < 0) break;
            if (WIFSTOPPED(status)) {
                ptrace(PTRACE_SYSCALL, thread, nullptr, at_stop(thread, status));
            } else if (thread == child) {
                if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
                    result.error = "the traced program failed with status " + std::to_string(status);
                break;
            }
        }
        if (marks != 2 && result.error.empty())
            result.error = "expected 2 marks, saw " + std::to_string(marks);
    }
};

}  // namespace

void mark_system_calls() { syscall(mark_number, 0); }

SystemCalls count_system_calls(const std::vector<std::string>& arguments) {
    pid_t child = fork();
    if (child == 0) become_child(arguments);
    Tracer tracer{child};
    if (child < 0)
        tracer.result.error = std::strerror(errno);
    else
        tracer.run();
    return tracer.result;
}

}  // namespace mge::steady_state
