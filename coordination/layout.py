"""Where everything lies under the team root; the only module that builds a state path.

All paths are relative to the root, with forward slashes, so that machines may mount it elsewhere.
"""

from __future__ import annotations

import re

TEAM_FILE = ".team/team.json"
PROFILE_LOG = ".team/profile"
HANDSHAKES = ".team/handshakes"
LEAD_LOG = ".team/lead"
KEYS_LOG = ".team/keys"
GRAPH_LOG = ".tasks/graph"
TASK_LOGS = ".tasks/log"
TASKS = ".tasks"
READY = ".tasks/ready"
TASKS_LOCK = ".tasks/.lock"
MAILBOXES = "mailboxes"
MEMBERS = ".team/members"
REQUESTS = ".team/requests"
APPROVERS = ".team/approvers"
RUNS = ".team/runs"
BACKGROUND = ".team/background"
SCHEDULE = ".team/schedule"
PAUSE = ".team/pause"
EVENTS = ".team/events"
LOGS = ".team/logs"
TRANSCRIPTS = ".team/transcripts"
OUTPUTS = ".team/outputs"
PINNED = ".team/pinned"
SEEN_TOOLS = ".team/seen-tools"
THROTTLE = ".team/throttle"
WORKTREES = ".worktrees"
MEMORY = ".memory"
REPLACED_MEMORY = ".memory/replaced"
MEMORY_INDEX = ".memory/INDEX.md"
CONSOLIDATED = ".memory/consolidated.json"
TEMPORARY = ".tmp~"  # what the name of a file that is not yet complete starts with
TOP_LEVEL = (".team", TASKS, MAILBOXES, WORKTREES, MEMORY)
SECOND_LEVEL = (
    *(PROFILE_LOG, HANDSHAKES, LEAD_LOG, KEYS_LOG, MEMBERS, REQUESTS, APPROVERS, RUNS),
    *(BACKGROUND, SCHEDULE, PAUSE, EVENTS, LOGS, TRANSCRIPTS, OUTPUTS, PINNED, SEEN_TOOLS),
    *(GRAPH_LOG, TASK_LOGS, READY),
)

TASK_ID = re.compile(r"task_[0-9a-f]{8}")
REQUEST_ID = re.compile(r"req_[0-9a-f]{8}")
RUN_ID = re.compile(r"run_[0-9a-f]{8}")
JOB_ID = re.compile(r"bg_[0-9a-f]{8}")
ENTRY_ID = re.compile(r"cron_[0-9a-f]{8}")
DUE = re.compile(r"[0-9]{8}T[0-9]{6}Z")
MEMBER_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
MEMBER_KEY = re.compile(r"[a-z0-9_-]{1,64}")  # the name in small letters, under which its log lies
RECORD_NAME = re.compile(r"([1-9][0-9]{0,8})\.json")
BEARER = re.compile(r"([A-Za-z0-9_-]{1,64})~([0-9]+)")
SUBAGENT_JOURNAL = re.compile(r"[A-Za-z0-9_-]{1,64}~[0-9]+\.sub-[0-9]+\.jsonl")


def bearer(name: str, incarnation: int) -> str:
    """One process that bears a name: `alice~7`."""
    return f"{name}~{incarnation}"


def split_bearer(text: str) -> tuple[str, int] | None:
    """The name and incarnation of `alice~7`; None for anything else."""
    match = BEARER.fullmatch(text)
    return (match[1], int(match[2])) if match else None


def record(log: str, number: int) -> str:
    return f"{log}/{number}.json"


def handshake_lock(handshake: str) -> str:
    """The file whose lock two hosts try."""
    return f"{HANDSHAKES}/{handshake}/lock"


def task_log(task: str) -> str:
    return f"{TASK_LOGS}/{task}"


def task_view(task: str) -> str:
    return f"{TASKS}/{task}.json"


def task_conflict(task: str, number: int) -> str:
    return f"{TASKS}/{task}.conflict-{number}.json"


def ready_hints(role: str) -> str:
    return f"{READY}/{role}"


def holdings(name: str) -> str:
    """Where the tasks lie, as empty files, that the member may hold."""
    return f"{TASKS}/holdings/{name}"


def inbox(name: str) -> str:
    return f"{MAILBOXES}/{name}.d"


def sent(to: str, sender: str) -> str:
    """The file in which the process `sender` (`alice~7`, `person~host`) leaves mail for `to`."""
    return f"{inbox(to)}/{sender}.jsonl"


def received(who: str) -> str:
    return f"{MAILBOXES}/{who}.jsonl"


def member_log(name: str) -> str:
    return f"{MEMBERS}/{name}"


def beat(who: str) -> str:
    return f"{MEMBERS}/{who}.beat"


def request_log(request: str) -> str:
    return f"{REQUESTS}/{request}"


def approver(process: str) -> str:
    """The file of a process that shows questions to a person, while it does."""
    return f"{APPROVERS}/{process}.json"


def run_log(run: str) -> str:
    return f"{RUNS}/{run}"


def job_log(job: str) -> str:
    return f"{BACKGROUND}/{job}"


def schedule_log(entry: str) -> str:
    return f"{SCHEDULE}/{entry}"


def occurrences(entry: str) -> str:
    """Where the logs of the times lie at which an entry of the schedule fired."""
    return f"{SCHEDULE}/{entry}/due"


def plan(task: str, token: int, number: int) -> str:
    return f".team/plans/{task}/{token}-{number}.md"


def journal(who: str) -> str:
    return f"{TRANSCRIPTS}/{who}.jsonl"


def subagent_journal(who: str, subagent: str) -> str:
    """The conversation of one sub-agent (`sub-3`) of the process `who`."""
    return f"{TRANSCRIPTS}/{who}.{subagent}.jsonl"


def events(who: str) -> str:
    return f"{EVENTS}/{who}.jsonl"


def process_log(who: str) -> str:
    return f"{LOGS}/{who}.log"


def setup_log(tree: str) -> str:
    """What the set-up of the tree of that name printed."""
    return f"{LOGS}/setup-{tree}.log"


def outputs(who: str) -> str:
    return f"{OUTPUTS}/{who}"


def pinned(digest: str) -> str:
    return f"{PINNED}/{digest}.json"


def seen_tool(name: str) -> str:
    """What the tool of an MCP server said of itself, by the name that it is offered under."""
    return f"{SEEN_TOOLS}/{name}.json"


def memory(file: str) -> str:
    """A record of what the team remembers."""
    return f"{MEMORY}/{file}"


def replaced_memory(file: str) -> str:
    """A record that was merged into another one."""
    return f"{REPLACED_MEMORY}/{file}"


def report(run: str) -> str:
    return f"{RUNS}/{run}/report.json"


def verification_tree(purpose: str) -> str:
    """Name of the tree in which the checks of a member run, or those of the queue (`merge.1`)."""
    return f".verify-{purpose}"
