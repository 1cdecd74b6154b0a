/** JSON lines: `time`, `level` and `message` first, then the fields. */
import type { Log, LogFields } from './deps.ts'
import { isoTime } from './time.ts'

const levels = { debug: 10, info: 20, warn: 30, error: 40, silent: 100 } as const
export type LogLevel = keyof typeof levels
type LineLevel = Exclude<LogLevel, 'silent'>

/** Values under these names are never logged. */
const SECRET_NAME =
  /auth|signature|secret|token|passw|credential|cookie|payment|private|bearer|(?:^|_)(?:key|code|email|seed)$/i
const REDACTED = '[redacted]'
const MAX_VALUE_LENGTH = 2000

export interface LogDeps {
  readonly level: LogLevel
  readonly now: () => number
  readonly write: (lines: string) => void
  /** Such as `setImmediate`, so that the lines of one tick are written together. */
  readonly defer: (flush: () => void) => void
}

export type LineLog = ReturnType<typeof createLog>

export function createLog({ level, now, write, defer }: LogDeps) {
  let held = ''
  /** Writes buffered lines; call before the process exits. */
  const flush = (): void => {
    const lines = held
    held = ''
    if (lines !== '') write(lines)
  }
  /** Lets callers skip building lines that would be dropped. */
  const isEnabled = (line: LineLevel): boolean => levels[line] >= levels[level]
  const at =
    (line: LineLevel): Log['info'] =>
    (message, fields) => {
      if (!isEnabled(line)) return
      if (held === '') defer(flush)
      held += formatLine(isoTime(now()), line, message, fields)
      // A crashing process does not reach the next tick.
      if (line === 'error') flush()
    }
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    isEnabled,
    flush,
  }
}

export function withFields(log: Log, bound: LogFields): Log {
  return {
    debug: (message, fields) => log.debug(message, { ...bound, ...fields }),
    info: (message, fields) => log.info(message, { ...bound, ...fields }),
    warn: (message, fields) => log.warn(message, { ...bound, ...fields }),
    error: (message, fields) => log.error(message, { ...bound, ...fields }),
  }
}

function formatLine(
  time: string,
  level: LineLevel,
  message: string,
  fields: LogFields | undefined,
): string {
  const line: Record<string, unknown> = { time, level, message: clip(message) }
  for (const [name, value] of Object.entries(fields ?? {})) {
    if (name in line || value === undefined) continue
    line[name] = SECRET_NAME.test(name) ? REDACTED : clip(value)
  }
  return `${JSON.stringify(line)}\n`
}

function clip<T>(value: T): T | string {
  if (typeof value !== 'string' || value.length <= MAX_VALUE_LENGTH) return value
  return `${value.slice(0, MAX_VALUE_LENGTH)}…`
}
