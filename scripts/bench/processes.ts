/** Servers and workers as processes of their own. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { withChildren } from './load.ts'

const START_TIMEOUT_MS = 30_000

export interface ServerProcess {
  readonly origin: string
  readonly pids: () => readonly number[]
  readonly stop: () => Promise<void>
}

/** Starts a server and waits until `readyPath` answers 200. */
export async function startServer(options: {
  readonly program: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly port: number
  readonly readyPath: string
}): Promise<ServerProcess> {
  const { program, args, env = {}, port, readyPath } = options
  const child = spawn(program, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...env },
  })
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => {
    said = `${said}${chunk.toString('utf8')}`.slice(-4000)
  })
  await once(child, 'spawn')
  const origin = `http://127.0.0.1:${port}`
  const deadlineMs = performance.now() + START_TIMEOUT_MS
  while (!(await isReady(`${origin}${readyPath}`))) {
    if (child.exitCode !== null || performance.now() > deadlineMs) {
      child.kill('SIGKILL')
      throw new Error(`${program} ${args.join(' ')} does not answer: ${said}`)
    }
    await sleep(20)
  }
  return {
    origin,
    pids: () => withChildren(child.pid ?? 0),
    stop: async () => {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    },
  }
}

async function isReady(url: string): Promise<boolean> {
  try {
    const response = await fetch(url)
    await response.arrayBuffer()
    return response.status === 200
  } catch {
    return false
  }
}

/** A compiled script of this folder, given by its source's URL. */
export function scriptPath(source: URL): string {
  return fileURLToPath(source)
}

/** Runs a script in a process of its own and answers the JSON on the last line it prints. */
export async function runWorker(script: URL, args: readonly string[]): Promise<unknown> {
  const all = [scriptPath(script), ...args]
  const { stdout } = await promisify(execFile)(process.execPath, all, { maxBuffer: 2 ** 26 })
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
}

/** A script that says how far it is, a word on each line, and goes on when it is told. */
export interface Steps {
  /** Resolves when it has said the word. */
  readonly until: (word: string) => Promise<void>
  readonly next: () => void
  /** The JSON on its last line, once it has ended. */
  readonly result: () => Promise<unknown>
}

export async function startSteps(script: URL, args: readonly string[]): Promise<Steps> {
  const child = spawn(process.execPath, [scriptPath(script), ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines: string[] = []
  const heard = createInterface({ input: child.stdout })
  heard.on('line', (line) => lines.push(line))
  const ended = Promise.all([once(child, 'exit'), once(heard, 'close')])
  await once(child, 'spawn')
  return {
    until: async (word) => {
      while (!lines.includes(word)) {
        if (child.exitCode !== null) throw new Error(`${script.pathname} ended before "${word}"`)
        await Promise.race([once(heard, 'line'), ended])
      }
    },
    next: () => void child.stdin.write('\n'),
    result: async () => {
      await ended
      if (child.exitCode !== 0) throw new Error(`${script.pathname} ended with ${child.exitCode}`)
      const result: unknown = JSON.parse(lines.at(-1) ?? '')
      return result
    },
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no TCP address')
  return address.port
}
