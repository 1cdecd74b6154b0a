/** HTTP load by wrk: a closed loop over keep-alive connections from one thread. */
import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'

export interface LoadOptions {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly connections: number
  readonly durationMs: number
  readonly script?: string
}

export function wrkVersion(): string | null {
  const { stdout, error } = spawnSync('wrk', ['-v'], { encoding: 'utf8' })
  return error === undefined ? (stdout.split('\n')[0]?.trim() ?? 'wrk') : null
}

export async function runWrk(
  options: LoadOptions,
): Promise<{ readonly perSecond: number; readonly p99Ms: number }> {
  const { url, headers, connections, durationMs, script } = options
  const seconds = Math.max(1, Math.round(durationMs / 1000))
  const fields = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
  const scripted = script === undefined ? [] : ['-s', script]
  const sizes = ['-t1', `-c${connections}`, `-d${seconds}s`, '--latency']
  const { stdout } = await promisify(execFile)('wrk', [...sizes, ...scripted, ...fields, url])
  if (/Non-2xx|Socket errors/.test(stdout)) {
    throw new Error(`errors under load of ${url}: ${stdout}`)
  }
  const [, perSecond] = /Requests\/sec:\s+([\d.]+)/.exec(stdout) ?? []
  const [, p99, unit = ''] = /99%\s+([\d.]+)([a-z]+)/.exec(stdout) ?? []
  return { perSecond: Number(perSecond), p99Ms: Number(p99) * (unitMs[unit] ?? NaN) }
}

const unitMs: Readonly<Record<string, number>> = { us: 0.001, ms: 1, s: 1000, m: 60_000 }
