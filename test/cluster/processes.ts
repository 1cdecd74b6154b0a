/** The replicas and the builders: started, killed, paused and started again. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'

import { loadExchangeKeys } from '../../src/auth/exchange-keys.ts'
import { loadLogSigner } from '../../src/auth/notes.ts'
import { loadKeys } from '../../src/auth/service-keys.ts'
import { openDatabase } from '../../src/db/open.ts'
import { systemRandom } from '../../src/runtime/runtime.ts'
import { run } from '../support/program.ts'
import type { Program, Running } from '../support/program.ts'
import { beginLog } from '../support/publish-log.ts'
import { freePort } from '../support/server-process.ts'

export type Signal = 'SIGKILL' | 'SIGSTOP'

export interface Member {
  readonly name: string
  readonly isService: boolean
  /** Null for a builder. */
  readonly port: number | null
  /** False from a signal until it runs again. */
  readonly isUp: () => boolean
  /** Sends the signal and starts or continues the process after `forMs`. */
  readonly disturb: (signal: Signal, forMs: number) => Promise<void>
  readonly stop: () => Promise<void>
}

/** The secret of the simulation's keyed hashes. */
const hashSecret = new Uint8Array(32).fill(9)
const stopLimitMs = 30_000
const services = 3
const builders = 2

export async function startCluster(
  program: Program,
  { url, nowMs, fail }: { url: string; nowMs: number; fail: (problem: string) => void },
) {
  const root = mkdtempSync(join(tmpdir(), 'ledger-cluster-'))
  const dataDir = join(root, 'data')
  const keysDir = join(dataDir, 'keys')
  await loadKeys({ dir: keysDir, nowMs })
  await loadExchangeKeys(keysDir, systemRandom)
  const database = await openDatabase({ url })
  await beginLog(database, await loadLogSigner(keysDir, systemRandom))
  await database.close()
  mkdirSync(join(dataDir, 'secrets'), { mode: 0o700 })
  writeFileSync(join(dataDir, 'secrets/hash.key'), hashSecret, { mode: 0o600 })
  const remote = join(root, 'remote.git')
  execFileSync('git', ['init', '--quiet', '--bare', remote])
  const clock = pathToFileURL(program.scriptOf('test/support/test-clock.ts')).href
  const env = {
    NODE_COMPILE_CACHE: join(program.dir, 'compile-cache'),
    DATABASE_URL: url,
    DATA_DIR: dataDir,
    PUBLIC_DIR: join(root, 'public'),
    SITE_URL: 'https://ledger.test',
    SMTP_URL: 'smtp://127.0.0.1:1',
    SNAPSHOT_GIT_REMOTE: remote,
    POLL: 'off',
    LOG_LEVEL: 'info',
    GIT_CONFIG_GLOBAL: '/dev/null',
  }

  async function startMember(name: string, isService: boolean): Promise<Member> {
    const port = isService ? await freePort() : null
    const start = (): Running =>
      isService
        ? run(program.service, [], {
            ...env,
            NODE_OPTIONS: `--import=${clock}`,
            TEST_CLOCK_MS: String(nowMs),
            BUILDER: 'off',
            LIMITS: 'off',
            TRUSTED_PROXIES: '127.0.0.1',
            PORT: String(port),
          })
        : run(program.builder, [], env)
    const ready = (one: Running) =>
      isService
        ? one.says('"message":"listening"')
        : Promise.race([one.says('the builder leads'), one.says('standing by')])
    let running = start()
    let isUp = false
    let isEnding = false
    const isGone = (one: Running): boolean => one === running && isUp
    await ready(running)
    isUp = true

    async function restart(): Promise<void> {
      // A process may be killed again before it is ready, and a builder that lost its lease ends.
      for (;;) {
        running = start()
        const isReady = await ready(running).then(
          () => true,
          () => false,
        )
        if (isReady) return
        process.stderr.write(`${name} did not start: ${running.output().slice(-1500)}\n`)
        await delay(200)
      }
    }
    async function watch(): Promise<void> {
      for (;;) {
        const watched = running
        const code = await watched.ended
        if (isEnding) return
        // A killed process is started again by `disturb`; a builder that lost its lease ends by itself.
        if (!isGone(watched)) {
          await delay(20)
          continue
        }
        if (isService) fail(`${name} ended by itself with ${code}: ${watched.output().slice(-800)}`)
        isUp = false
        await restart()
        isUp = true
      }
    }
    void watch()
    return {
      name,
      isService,
      port,
      isUp: () => isUp,
      disturb: async (signal, forMs) => {
        isUp = false
        const disturbed = running
        disturbed.kill(signal)
        if (signal === 'SIGKILL') await disturbed.ended
        await delay(forMs)
        if (signal === 'SIGSTOP') disturbed.kill('SIGCONT')
        else await restart()
        isUp = true
      },
      stop: async () => {
        isEnding = true
        const last = running
        last.kill('SIGTERM')
        const timer = setTimeout(() => {
          fail(`${name} does not stop: ${last.output().slice(-600)}`)
          last.kill('SIGKILL')
        }, stopLimitMs)
        await last.ended
        clearTimeout(timer)
      },
    }
  }

  const members = await Promise.all([
    ...Array.from({ length: services }, (_, at) => startMember(`service ${at + 1}`, true)),
    ...Array.from({ length: builders }, (_, at) => startMember(`builder ${at + 1}`, false)),
  ])
  return {
    members,
    ports: members.flatMap(({ port }) => (port === null ? [] : [port])),
    stop: async () => {
      await Promise.all(members.map(async (member) => await member.stop()))
      rmSync(root, { recursive: true, force: true })
    },
  }
}
