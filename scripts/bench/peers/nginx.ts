import { startNginxWith, nginxUser } from '../../../test/support/edge.ts'

/** Runs nginx with one worker, like the shipped configuration in the benchmark, and its cache with nothing else. */
export async function startNginxCache(servicePort: number) {
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
  client_body_temp_path ${dir}/state/body;
  proxy_temp_path ${dir}/state/proxy;
  proxy_cache_path ${dir}/state/cache keys_zone=cache:10m use_temp_path=off;
  server {
    listen 127.0.0.1:${port};
    proxy_cache cache;
    location / { proxy_pass http://127.0.0.1:${servicePort}; }
  }
}
`,
  )
}
