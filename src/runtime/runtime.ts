import { randomBytes } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

import type { KeyMaker } from '../auth/key-file.ts'
import { ConfigError, parseConfig, requireForReplicas } from '../config.ts'
import type { Config } from '../config.ts'
import type { Clock, Fetch, Random } from '../core/deps.ts'
import { createLog } from '../core/log.ts'
import type { LineLog } from '../core/log.ts'
import { redact, withoutDirectories } from '../core/redact.ts'
import {
  DatabaseBrokenError,
  DatabaseRefusedError,
  DatabaseUnavailableError,
} from '../db/errors.ts'
import { createProcessReadings } from '../metrics/process.ts'
import type { ProcessReading } from '../metrics/process.ts'
import { PaymentSettingsError } from '../payments/load.ts'
import { requireMatchingFolder } from './demo.ts'

/** sysexits.h EX_CONFIG: a restart does not help. */
const exitConfig = 78

export function configOrExit(): Config {
  try {
    const config = parseConfig({
      variables: process.env,
      readFile: (path) => readFileSync(path, 'utf8'),
    })
    requireMatchingFolder(config)
    requireForReplicas(config)
    // For the owner only: the database contains data that is not public.
    mkdirSync(config.DATA_DIR, { recursive: true, mode: 0o700 })
    return config
  } catch (error) {
    return exitOnWrongSetting(error)
  }
}

/** Rethrows other errors. */
export function exitOnWrongSetting(error: unknown): never {
  if (!(error instanceof ConfigError) && !(error instanceof PaymentSettingsError)) throw error
  return exitFor(`The settings are wrong:\n${error.message}`)
}

/** Faults of the machine, which a restart may fix. */
const passingFaults: ReadonlySet<unknown> = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'ENOSPC', 'EIO'])

/** For errors of key files, whose messages name the file and what to do. Rethrows faults of the machine. */
export function exitOnUnusableKey(error: unknown): never {
  if (error instanceof Error && 'code' in error && passingFaults.has(error.code)) throw error
  return exitFor(
    `A key file cannot be used: ${error instanceof Error ? error.message : String(error)}`,
  )
}

/** A builder also sends the reason to its service, which shows it in `/health`. */
function exitFor(reason: string): never {
  process.stderr.write(`${reason}\n`)
  process.send?.({ problem: redact(withoutDirectories(reason)) })
  return process.exit(exitConfig)
}

/** Exits with 1 for a failure that a restart may fix. Rethrows other errors. */
export function exitOnUnusableDatabase(error: unknown): never {
  const isUnusable =
    error instanceof DatabaseRefusedError || error instanceof DatabaseUnavailableError
  if (!isUnusable) throw error
  process.stderr.write(`The database cannot be used: ${error.message}\n`)
  if (error instanceof DatabaseBrokenError) process.stderr.write(brokenAdvice)
  return process.exit(error instanceof DatabaseRefusedError ? exitConfig : 1)
}

const brokenAdvice = `Published documents are unaffected. Stop all processes of this ledger, then run
  agent-income-ledger admin doctor            shows what is damaged,
  agent-income-ledger admin restore <backup>  replaces the database with a backup.
`

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: async (delayMs, signal) => {
    await delay(delayMs, undefined, signal === undefined ? {} : { signal })
  },
}

export function keyMakerOf({ KEYS }: Pick<Config, 'KEYS'>): KeyMaker {
  return KEYS === 'required' ? null : systemRandom
}

export const systemRandom: Random = {
  bytes: (length) => randomBytes(length),
  unit: () => Math.random(),
}

/** Logs to standard error. */
function systemLog(level: Config['LOG_LEVEL']): LineLog {
  return createLog({
    level,
    now: () => Date.now(),
    write: (lines) => process.stderr.write(lines),
    defer: (flush) => setImmediate(flush),
  })
}

export interface Runtime {
  readonly clock: Clock
  readonly random: Random
  readonly log: LineLog
  readonly fetch: Fetch
  readonly env: NodeJS.ProcessEnv
  /** Starts to measure the event loop; the result reads it with CPU time and memory. */
  readonly startReadings: () => () => Promise<ProcessReading>
  /** Aborts on SIGTERM, on SIGINT, and after `fail`. */
  readonly stopped: AbortSignal
  readonly failed: AbortSignal
  /** Stops this process with exit code 1. */
  readonly fail: (reason: unknown) => void
}

/** Creates the dependencies that service and builder share, and handles the signals that stop them. */
export function startRuntime({ LOG_LEVEL }: Pick<Config, 'LOG_LEVEL'>): Runtime {
  const stopping = new AbortController()
  const failing = new AbortController()
  const stop = (name: NodeJS.Signals) => stopping.abort(new Error(`received ${name}`))
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
  const stopped = AbortSignal.any([stopping.signal, failing.signal])
  // Many functions listen to this signal, and Node warns of a leak above ten listeners.
  setMaxListeners(0, stopped)
  return {
    clock: systemClock,
    random: systemRandom,
    log: systemLog(LOG_LEVEL),
    fetch,
    env: process.env,
    startReadings: () => createProcessReadings(process, Date.now()),
    stopped,
    failed: failing.signal,
    fail: (reason) => failing.abort(reason),
  }
}

export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** The folder of package.json, above the source or the bundle. */
export const packageRoot = ((): string => {
  let folder = import.meta.dirname
  while (!existsSync(join(folder, 'package.json'))) {
    if (folder === dirname(folder)) throw new Error(`no package.json above ${import.meta.dirname}`)
    folder = dirname(folder)
  }
  return folder
})()
