/** `npm run dev`: recompiles and restarts on change, with demo data in `.dev`, debug logs and no rate limits. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { watch } from 'node:fs'
import { join } from 'node:path'

import { packageRoot } from '../src/runtime/runtime.ts'
import { demoSettings, prepareDemoFolder, startService } from './demo/folder.ts'

const dataDir = join(packageRoot, '.dev')
const settings = { ...demoSettings(dataDir), LIMITS: 'off', LOG_LEVEL: 'debug' }
/** Several files are often saved at once. */
const debounceMs = 200

await prepareDemoFolder(dataDir)
let service = start()
let timer: NodeJS.Timeout | undefined
let restarting = Promise.resolve()

// npm puts the compiler on the path.
const compiler = spawn(
  'tsc',
  ['-p', 'scripts/tsconfig.tools.json', '--watch', '--preserveWatchOutput'],
  // Runs in a separate process group, since the launcher passes no signal to the compiler.
  { cwd: packageRoot, stdio: 'inherit', detached: true },
)
for (const folder of ['dist', 'data', 'public']) {
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

function start(): ChildProcess {
  const started = startService(settings)
  started.stdout?.pipe(process.stdout)
  return started
}

function restartSoon(): void {
  clearTimeout(timer)
  timer = setTimeout(() => {
    restarting = restarting.then(restart)
  }, debounceMs)
}

async function restart(): Promise<void> {
  await stopService()
  service = start()
}

async function stopService(): Promise<void> {
  if (service.exitCode !== null) return
  const ended = once(service, 'exit')
  service.kill('SIGTERM')
  await ended
}
