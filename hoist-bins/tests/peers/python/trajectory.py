"""Writes ATIF trajectories, a line each, as the schema's own package has them.

Exits with 3 where the package is not installed: it needs Python 3.11.
"""
import json
import sys

try:
    from atif import Trajectory
except ImportError:
    sys.exit(3)

TRAJECTORY = {
    "schema_version": "ATIF-v1.8",
    "session_id": "session-1",
    "agent": {
        "name": "smith",
        "version": "1.0",
        "model_name": "model-1",
        "tool_definitions": [
            {"type": "function", "function": {"name": "find", "parameters": {"type": "object"}}}
        ],
    },
    "steps": [
        {"step_id": 1, "source": "user", "message": "Find it", "timestamp": "2026-01-01T10:00:00Z"},
        {
            "step_id": 2,
            "source": "agent",
            "message": [
                {"type": "text", "text": "I look"},
                {"type": "image", "source": {"media_type": "image/png", "path": "a.png"}},
            ],
            "timestamp": "2026-01-01T10:00:02+00:00",
            "tool_calls": [
                {"tool_call_id": "a", "function_name": "find", "arguments": {"n": 1}},
                {"tool_call_id": "b", "function_name": "delegate", "arguments": {}},
            ],
            "observation": {
                "results": [
                    {"source_call_id": "a", "content": "here"},
                    {"source_call_id": "b", "subagent_trajectory_ref": [{"trajectory_id": "t-2"}]},
                ]
            },
            "metrics": {"prompt_tokens": 120, "completion_tokens": 18, "cost_usd": 0.5},
        },
        {
            "step_id": 3,
            "source": "system",
            "message": "shortened",
            "observation": {"results": [{"content": "an event"}]},
        },
        {"step_id": 4, "source": "agent", "message": "Done", "llm_call_count": 1},
    ],
    "subagent_trajectories": [
        {
            "schema_version": "ATIF-v1.8",
            "trajectory_id": "t-2",
            "agent": {"name": "helper", "version": "0"},
            "steps": [{"step_id": 1, "source": "agent", "message": "hi"}],
        }
    ],
    "final_metrics": {"total_steps": 4},
}

trajectory = Trajectory.model_validate(TRAJECTORY)
# With nulls for what is absent, and without.
print(json.dumps(trajectory.to_json_dict(exclude_none=False)))
print(json.dumps(trajectory.to_json_dict()))
