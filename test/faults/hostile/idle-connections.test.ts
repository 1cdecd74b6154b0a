/** Idle connections: they keep no other client out, and are closed soon. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'

import { expect, test } from 'vitest'

import { open, received, send } from '../../support/raw-http.ts'
import type { Address } from '../../support/raw-http.ts'
import { leavesNothingOut } from '../../support/runnable.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'
import { useServices } from '../../support/use-service.ts'

allowSlowTests('opens thousands of connections')

const WANTED = 5000
/** Descriptors that this process needs besides both ends of each connection. */
const SPARE = 500

const { start } = useServices()

function descriptorsAllowed(): { readonly soft: number; readonly hard: number } {
  const limits = readFileSync('/proc/self/limits', 'utf8')
  const [, soft = 1024, hard = soft] = /^Max open files\s+(\d+)\s+(\d+)/m.exec(limits) ?? []
  return { soft: Number(soft), hard: Number(hard) }
}

/** The wanted number of connections, or as many as this machine allows a process. */
function mostConnections(): number {
  const needed = 2 * WANTED + SPARE
  const { soft, hard } = descriptorsAllowed()
  if (soft < needed) {
    // Only root may raise the hard limit.
    const limit = `--nofile=${needed}:${Math.max(needed, hard)}`
    spawnSync('prlimit', [`--pid=${process.pid}`, limit])
  }
  return Math.min(WANTED, Math.floor((descriptorsAllowed().soft - SPARE) / 2))
}

interface Idle {
  readonly socket: Socket
  readonly closed: Promise<string>
}

/** Opens an idle connection; `closed` resolves to all bytes received. */
async function leaveOpen(address: Address): Promise<Idle> {
  const socket = await open(address)
  return { socket, closed: received(socket).then((bytes) => bytes.toString('latin1')) }
}

test('thousands of idle connections keep no client out and are closed with 408', async () => {
  const count = mostConnections()
  if (leavesNothingOut) expect(count, 'connections that ulimit -n leaves room for').toBe(WANTED)
  const service = await start()
  const idle: Idle[] = []
  for (let at = 0; at < count; at += 250) {
    const more = Array.from({ length: Math.min(250, count - at) }, () => leaveOpen(service.address))
    idle.push(...(await Promise.all(more)))
  }
  for (const path of ['/api/v1/rails', '/api/v1/receipts?limit=1', '/api/v1/health', '/']) {
    expect([path, (await send(service.address, `GET ${path}`)).status]).toEqual([path, 200])
  }
  const answers = await Promise.all(idle.map(({ closed }) => closed))
  expect(answers.filter((text) => !text.startsWith('HTTP/1.1 408 '))).toEqual([])
  expect((await send(service.address, 'GET /api/v1/rails')).status).toBe(200)
  const lack = count < WANTED ? `, and not ${WANTED}: no more files may be open here` : ''
  process.stdout.write(`${count} connections left open${lack}\n`)
})
