/** HTTP load by wrk: a closed loop over keep-alive connections from one thread. */
import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'

interface WrkOptions {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly connections: number
  readonly seconds: number
}

export function isInstalled(program: string): boolean {
  return spawnSync(program, ['-v']).error === undefined
}

const unitMs: Readonly<Record<string, number>> = { us: 0.001, ms: 1, s: 1000 }

/** Returns the requests per second and the latency. @throws Error if a request failed */
export async function runWrk({ url, headers = {}, connections, seconds }: WrkOptions) {
  const fields = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
  const sizes = ['--latency', '-t1', `-c${connections}`, `-d${seconds}s`]
  const { stdout } = await promisify(execFile)('wrk', [...sizes, ...fields, url])
  const [, perSecond] = /Requests\/sec:\s+([\d.]+)/.exec(stdout) ?? []
  const [, p99 = '', unit = ''] = /99%\s+([\d.]+)(us|ms|s)$/m.exec(stdout) ?? []
  if (perSecond === undefined || p99 === '' || /Non-2xx|Socket errors/.test(stdout)) {
    throw new Error(`errors under load of ${url}: ${stdout}`)
  }
  return { perSecond: Number(perSecond), p99Ms: Number(p99) * (unitMs[unit] ?? NaN) }
}
