/** Keeps demo ledgers and real ones apart: a folder has the marker exactly where the service runs with `DEMO=on`. */
import { existsSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { join } from 'node:path'

import { ConfigError } from '../config.ts'
import type { Config } from '../config.ts'

/** The file in DATA_DIR that marks a demo folder. */
const markerFile = 'demo.txt'

export function isDemoFolder(dataDir: string): boolean {
  return existsSync(join(dataDir, markerFile))
}

export function demoMarkerPath(dataDir: string): string {
  return join(dataDir, markerFile)
}

/** @throws ConfigError where a demo would use a real folder, or a real ledger a demo folder. */
export function requireMatchingFolder({ DEMO, DATA_DIR }: Config): void {
  const isDemo = isDemoFolder(DATA_DIR)
  if (DEMO === 'on' && !isDemo) {
    throw new ConfigError(`DEMO: ${DATA_DIR} is not a demo folder; \`npm run demo\` makes one`)
  }
  if (DEMO === 'off' && isDemo) {
    throw new ConfigError(`DATA_DIR: ${DATA_DIR} contains the invented data of a demo`)
  }
}

/** The directory of authored files: the package's own, or the copy of a demo with its invented platform. */
export function authoredDir({ DEMO, DATA_DIR }: Config, packageRoot: string): string {
  return DEMO === 'on' ? join(DATA_DIR, 'authored') : join(packageRoot, 'data')
}

/** Adds `X-Demo: true` to every answer of a demo. */
export function withDemoHeader({ DEMO }: Config, listener: RequestListener): RequestListener {
  if (DEMO === 'off') return listener
  return (req, res) => {
    res.setHeader('X-Demo', 'true')
    listener(req, res)
  }
}
