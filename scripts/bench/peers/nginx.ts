import { startNginxWith, nginxUser } from '../../../test/support/edge.ts'

/** Runs nginx with one worker, like the service, and only the settings of a fast file server. */
export async function startNginxFiles(root: string) {
  return await startNginxWith(
    (dir, port) => `${nginxUser}
worker_processes 1;
pid ${dir}/nginx.pid;
error_log stderr error;
events { worker_connections 1024; }
http {
  access_log off;
  sendfile on;
  tcp_nopush on;
  keepalive_requests 1000000000;
  open_file_cache max=1000 inactive=60s;
  client_body_temp_path ${dir}/state/body;
  proxy_temp_path ${dir}/state/proxy;
  types { application/json json; }
  server {
    listen 127.0.0.1:${port};
    root ${root};
    add_header Cache-Control "public, max-age=60";
  }
}
`,
  )
}
