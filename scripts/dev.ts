/** `npm run dev`: recompiles and restarts on change, with demo data in `.dev`, debug logs and no rate limits. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { watch } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

import { z } from 'zod'

import { packageRoot } from '../src/runtime/runtime.ts'
import { demoSettings, prepareDemoFolder, startService } from './demo/folder.ts'

const dataDir = join(packageRoot, '.dev')
const settings = { ...demoSettings(dataDir), LIMITS: 'off', LOG_LEVEL: 'debug' }
/** Several files are often saved at once. */
const debounceMs = 200

await prepareDemoFolder(dataDir)
let service: ChildProcess | null = null
let timer: NodeJS.Timeout | undefined
let restarting = Promise.resolve()

// npm puts the compiler on the path.
const compiler = spawn(
  'tsc',
  ['-p', 'scripts/tsconfig.tools.json', '--watch', '--preserveWatchOutput'],
  // Runs in a separate process group, since the launcher passes no signal to the compiler.
  { cwd: packageRoot, stdio: ['ignore', 'pipe', 'inherit'], detached: true },
)
onLine(compiler.stdout, (line) => {
  if (line.trim() !== '') process.stdout.write(`${line}\n`)
  if (line.includes('Found 0 errors')) restartSoon()
})
for (const folder of ['data', 'public']) {
  watch(join(packageRoot, folder), { recursive: true }, (_event, file) => {
    if (file !== null && !/^(?:run|current|generations|\.)/.test(file)) restartSoon()
  })
}
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.once(name, () => {
    if (compiler.pid !== undefined) process.kill(-compiler.pid)
    clearTimeout(timer)
    void restarting.then(stopService).then(() => process.exit())
  })
}

function restartSoon(): void {
  clearTimeout(timer)
  timer = setTimeout(() => {
    restarting = restarting.then(restart)
  }, debounceMs)
}

async function restart(): Promise<void> {
  await stopService()
  service = startService(settings, 'pipe')
  service.stdout?.pipe(process.stdout)
  if (service.stderr !== null) onLine(service.stderr, (line) => process.stdout.write(pretty(line)))
}

async function stopService(): Promise<void> {
  if (service === null || service.exitCode !== null) return
  const ended = once(service, 'exit')
  service.kill('SIGTERM')
  await ended
}

function onLine(stream: Readable, handle: (line: string) => void): void {
  createInterface({ input: stream }).on('line', handle)
}

/** `06:00:00.000 info  request method=GET path=/ status=200`. Other lines do not change. */
function pretty(line: string): string {
  if (!line.startsWith('{')) return `${line}\n`
  const { time, level, message, ...fields } = logLine.parse(JSON.parse(line))
  const members = Object.entries(fields).map(([name, value]) => `${name}=${String(value)}`)
  return `${[time.slice(11, 23), level.padEnd(5), message, ...members].join(' ')}\n`
}

const logLine = z.looseObject({ time: z.string(), level: z.string(), message: z.string() })
