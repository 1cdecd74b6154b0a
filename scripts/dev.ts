/** `npm run dev`: bundles and restarts on change, with demo data in `.dev`, debug logs and no rate limits. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { watch } from 'node:fs'
import { join } from 'node:path'

import { packageRoot } from '../src/runtime/runtime.ts'
import { demoSettings, prepareDemoFolder, startService } from './demo/folder.ts'

const dataDir = join(packageRoot, '.dev')
const demo = await demoSettings(dataDir)
const settings = { ...demo, LIMITS: 'off', LOG_LEVEL: 'debug' }
/** Several files are often saved at once. */
const debounceMs = 200

await prepareDemoFolder(demo)
let service = startService(settings)
let timer: NodeJS.Timeout | undefined
let restarting = Promise.resolve()

for (const folder of ['src', 'builder', 'data']) {
  watch(join(packageRoot, folder), { recursive: true }, (_event, file) => {
    if (file !== null && !/^(?:run|\.)|assets\/rules\.js$/.test(file)) restartSoon()
  })
}
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.once(name, () => {
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

/** Leaves the service as it is if the code cannot be bundled. */
async function restart(): Promise<void> {
  const bundling = spawn('npm', ['run', '--silent', 'tools'], {
    cwd: packageRoot,
    stdio: 'inherit',
  })
  await once(bundling, 'exit')
  if (bundling.exitCode !== 0) return
  await stopService()
  service = startService(settings)
}

async function stopService(): Promise<void> {
  if (service.exitCode !== null) return
  const ended = once(service, 'exit')
  service.kill('SIGTERM')
  await ended
}
