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

/** Returns the requests per second. @throws Error if a request failed */
export async function runWrk({ url, headers = {}, connections, seconds }: WrkOptions) {
  const fields = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
  const sizes = ['-t1', `-c${connections}`, `-d${seconds}s`]
  const { stdout } = await promisify(execFile)('wrk', [...sizes, ...fields, url])
  const [, perSecond] = /Requests\/sec:\s+([\d.]+)/.exec(stdout) ?? []
  if (perSecond === undefined || /Non-2xx|Socket errors/.test(stdout)) {
    throw new Error(`errors under load of ${url}: ${stdout}`)
  }
  return Number(perSecond)
}
