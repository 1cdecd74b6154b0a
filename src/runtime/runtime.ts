/** The real clock, randomness, environment and log. Called by the entry points only; everything else is given them. */
import { randomBytes } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

import { ConfigError, parseConfig } from '../config.ts'
import type { Config } from '../config.ts'
import type { Clock, Random } from '../core/deps.ts'
import { createLog } from '../core/log.ts'
import type { LineLog } from '../core/log.ts'
import {
  DatabaseBrokenError,
  DatabaseRefusedError,
  DatabaseUnavailableError,
} from '../db/errors.ts'
import type { Resolve } from '../outbound/pinned-fetch.ts'
import { PaymentSettingsError } from '../payments/load.ts'
import { requireMatchingFolder } from './demo.ts'

/** sysexits.h EX_CONFIG: the configuration is wrong, starting again does not help. */
const exitConfig = 78

/** Reads the settings, or prints what is wrong with them and ends the process. */
export function configOrExit(): Config {
  try {
    const config = parseConfig({
      variables: process.env,
      readFile: (path) => readFileSync(path, 'utf8'),
    })
    requireMatchingFolder(config)
    return config
  } catch (error) {
    return exitOnWrongSetting(error)
  }
}

/** Prints what is wrong with a setting and ends the process; anything else is thrown on. */
export function exitOnWrongSetting(error: unknown): never {
  if (!(error instanceof ConfigError) && !(error instanceof PaymentSettingsError)) throw error
  process.stderr.write(`The settings are wrong:\n${error.message}\n`)
  return process.exit(exitConfig)
}

/**
 * Prints why the database cannot be used, and what helps, and ends the process; anything else is thrown on.
 * A disk that failed may be well the next time: whoever watches starts the process again.
 */
export function exitOnUnusableDatabase(error: unknown): never {
  const isUnusable =
    error instanceof DatabaseRefusedError || error instanceof DatabaseUnavailableError
  if (!isUnusable) throw error
  process.stderr.write(`The database cannot be used: ${error.message}\n`)
  if (error instanceof DatabaseBrokenError) process.stderr.write(brokenAdvice)
  return process.exit(error instanceof DatabaseRefusedError ? exitConfig : 1)
}

const brokenAdvice = `What was published stays as it is. While nothing runs on the database,
  agent-income-ledger admin doctor            says what is damaged,
  agent-income-ledger admin restore <backup>  puts a backup in its place.
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

/** Every address that the system knows of a host name, its own files included. */
export const systemResolve: Resolve = async (host) => {
  const answers = await lookup(host, { all: true })
  return answers.map(({ address }) => address)
}

/** Log lines go to standard error: standard output belongs to what a person asked for. */
export function systemLog(level: Config['LOG_LEVEL']): LineLog {
  return createLog({
    level,
    now: () => Date.now(),
    write: (lines) => process.stderr.write(lines),
    defer: (flush) => setImmediate(flush),
  })
}

/** Aborts once, on the first SIGTERM or SIGINT. */
export function stopSignal(): AbortSignal {
  const controller = new AbortController()
  const stop = (name: NodeJS.Signals) => controller.abort(new Error(`received ${name}`))
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
  return controller.signal
}

/** Resolves when the signal has aborted, at once where it already has. */
export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** The folder that holds package.json: the source lies in `src`, what the compiler emits in `dist/src`. */
export const packageRoot = fileURLToPath(
  new URL(import.meta.url.includes('/dist/src/') ? '../../..' : '../..', import.meta.url),
)
