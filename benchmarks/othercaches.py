"""Apache Traffic Server and nginx as caches beside linkmend, from their Debian packages. http only: neither of them
decrypts what passes through a forward proxy.
"""

import os
import shutil
from pathlib import Path

from benchmarks.processes import Program, free_port

TRAFFIC_SERVER_PASS, TRAFFIC_SERVER_HIT = "[cMsSf", "[cRs f"
"""What its Via says of a miss, and of a hit in memory."""
NGINX_PASS, NGINX_HIT = "X-Cache: MISS", "X-Cache: HIT"

_RECORDS = """
CONFIG proxy.config.http.server_ports STRING {port}:ip-in=127.0.0.1
CONFIG proxy.config.url_remap.remap_required INT 0
CONFIG proxy.config.reverse_proxy.enabled INT 0
CONFIG proxy.config.http.insert_response_via_str INT 2
CONFIG proxy.config.log.logging_enabled INT 0
CONFIG proxy.config.exec_thread.autoconfig INT 0
CONFIG proxy.config.exec_thread.limit INT 1
CONFIG proxy.config.exec_thread.affinity INT 0
CONFIG proxy.config.cache.ram_cache.size INT 268435456
"""
_USER = "CONFIG proxy.config.admin.user_id STRING trafficserver\n"  # as root it refuses to stay root
_ALLOWED = """
ip_allow:
  - {apply: in, ip_addrs: 127.0.0.0/8, action: allow, methods: ALL}
"""
_NGINX = """
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
  access_log off;
  keepalive_requests 1000000000;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  proxy_cache_path {folder}/cache keys_zone=pages:10m;
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://$http_host$request_uri;
      proxy_http_version 1.1;
      proxy_set_header Host $http_host;
      proxy_set_header Connection "";
      proxy_cache pages;
      proxy_cache_key $http_host$request_uri;
      add_header X-Cache $upstream_cache_status;
    }}
  }}
}}
"""


def has_traffic_server() -> bool:
    return shutil.which("traffic_server") is not None


def has_nginx() -> bool:
    return shutil.which("nginx") is not None


def traffic_server(home: Path, cores: set[int]) -> Program:
    """Apache Traffic Server as a forward proxy: hits come from its cache in memory."""
    port, folder = free_port(), home / "traffic"
    for part in ("etc", "run", "log", "cache"):
        (folder / part).mkdir(parents=True)
    (folder / "runroot.yaml").write_text(
        f"prefix: {folder}\nexec_prefix: /usr\nbindir: /usr/bin\nsbindir: /usr/sbin\ndatadir: /usr/share\n"
        f"sysconfdir: {folder}/etc\nlocalstatedir: {folder}\nruntimedir: {folder}/run\nlogdir: {folder}/log\n"
        f"cachedir: {folder}/cache\n",
        encoding="utf-8",
    )
    user = _USER if os.getuid() == 0 else ""
    records = _RECORDS.format(port=port) + user
    written = {
        "records.config": records,
        "storage.config": f"{folder}/cache 256M\n",
        "ip_allow.yaml": _ALLOWED,
    }
    for name, text in written.items():
        (folder / "etc" / name).write_text(text, encoding="utf-8")
    _open_to_others(home, folder)
    command = ("traffic_server", f"--run-root={folder}")
    return Program(command, port=port, log=home / "traffic.log", cores=cores)


def nginx(home: Path, cores: set[int]) -> Program:
    """nginx, told to ask whatever host a request names. It opens a connection to the origin for each request."""
    port, folder = free_port(), home / "nginx"
    folder.mkdir()
    config = folder / "nginx.conf"
    config.write_text(_NGINX.format(port=port, folder=folder), encoding="utf-8")
    _open_to_others(home, folder)
    return Program(("nginx", "-c", config), port=port, log=folder / "output.log", cores=cores)


def _open_to_others(home: Path, folder: Path) -> None:
    """Both leave root for a user of their own."""
    if os.getuid() == 0:
        home.chmod(0o755)
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o777)
