import { randomBytes } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

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
import { UnusableFileError } from '../files/durable.ts'
import { createProcessReadings } from '../metrics/process.ts'
import type { ProcessReading } from '../metrics/process.ts'
import { ObjectStoreError } from '../outbound/object-store.ts'
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
    return exitOnStartError(error)
  }
}

/** The user must change something; a restart may fix other faults of the system. */
const lastingFaults = new Set(['EACCES', 'EEXIST', 'EISDIR', 'ENOENT', 'ENOTDIR', 'EPERM', 'EROFS'])

/** Prints what the operator must do, for `/health` too if a builder fails. Rethrows unknown errors. */
export function exitOnStartError(error: unknown): never {
  const reason = error instanceof Error ? reasonOf(error) : null
  if (reason === null) throw error
  process.stderr.write(`${reason}\n`)
  if (error instanceof DatabaseBrokenError) process.stderr.write(brokenAdvice)
  process.send?.({ problem: redact(withoutDirectories(reason)) })
  const mayPass =
    error instanceof DatabaseUnavailableError ||
    (isSystemError(error) && !lastingFaults.has(error.code))
  return process.exit(mayPass ? 1 : exitConfig)
}

function reasonOf(error: Error): string | null {
  const { message } = error
  if (error instanceof ConfigError || error instanceof PaymentSettingsError)
    return `The settings are wrong:\n${message}`
  if (error instanceof UnusableFileError) return `A file cannot be used: ${message}`
  if (error instanceof ObjectStoreError) return `The published files cannot be read: ${message}`
  if (error instanceof DatabaseRefusedError || error instanceof DatabaseUnavailableError)
    return `The database cannot be used: ${message}`
  if (!isSystemError(error)) return null
  const advice =
    'path' in error
      ? 'DATA_DIR and PUBLIC_DIR must be folders that the user of this process may write.'
      : 'HOST, PORT, METRICS_HOST and METRICS_PORT must be free addresses of this machine.'
  return `The start failed: ${message}. ${advice}`
}

const isSystemError = (error: unknown): error is Error & { readonly code: string } =>
  error instanceof Error && 'syscall' in error && 'code' in error

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
