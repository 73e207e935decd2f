"""A proxy of FastMCP. Arguments: a port, and what is behind it in the form of mcpServers, as JSON."""

import json
import sys

from fastmcp.server import create_proxy

create_proxy({"mcpServers": json.loads(sys.argv[2])}, name="proxy").run(
    transport="http", port=int(sys.argv[1]), path="/mcp", show_banner=False, log_level="ERROR", json_response=True
)
