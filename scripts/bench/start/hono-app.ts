/** `<port>`: Hono with one route and nothing else, as its documentation begins. */
import { serve } from '@hono/node-server'
import { Hono } from 'hono'

const app = new Hono()
app.get('/healthz', (c) => c.json({ status: 'ok' }))
serve({ fetch: app.fetch, port: Number(process.argv[2]), hostname: '127.0.0.1' })
