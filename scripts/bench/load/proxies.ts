import { join } from 'node:path'

import { freePort } from '../../../test/support/port.ts'
import { answering, flags, program, start } from './children.ts'

/** nginx with one worker before an upstream; `cached`: with a response cache. */
export async function startNginx(folder: string, upstream: string, cached: boolean) {
  const port = freePort()
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((it) => `${it}_temp_path ${folder}/${it};`)
    .join(' ')
  const cache = cached ? 'proxy_cache kept; proxy_cache_valid 200 1h;' : ''
  const path = join(folder, 'nginx.conf')
  await Bun.write(
    path,
    `${process.getuid?.() === 0 ? 'user root;' : ''}
worker_processes 1; daemon off; pid ${folder}/nginx.pid; error_log stderr;
events { worker_connections 1024; }
http {
  access_log off; keepalive_requests 100000000; ${temporary}
  proxy_cache_path ${folder}/kept keys_zone=kept:10m use_temp_path=off;
  upstream platform { server ${new URL(upstream).host}; keepalive 64; keepalive_requests 100000000; }
  server {
    listen 127.0.0.1:${port};
    location / { proxy_pass http://platform; proxy_http_version 1.1; proxy_set_header Connection ""; ${cache} }
  }
}
`,
  )
  const child = start([program('nginx', 'nginx'), '-c', path, '-p', folder, '-e', 'stderr'])
  const url = `http://127.0.0.1:${port}`
  await answering(`${url}/answer`)
  return Object.assign(child, { url })
}

/** varnish with its storage in memory before an upstream. */
export async function startVarnish(folder: string, upstream: string) {
  const port = freePort()
  const { hostname, port: behind } = new URL(upstream)
  const child = start(
    [
      program('varnishd', 'varnish'),
      '-F',
      ...flags({
        '-j': 'none',
        '-n': join(folder, 'varnish'),
        '-a': `127.0.0.1:${port}`,
        '-b': `${hostname}:${behind}`,
        '-s': 'malloc,64m',
        '-p': 'thread_pools=1',
      }),
    ],
    { loud: false },
  )
  const url = `http://127.0.0.1:${port}`
  await answering(`${url}/answer`)
  return Object.assign(child, { url })
}
