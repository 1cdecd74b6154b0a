/** Keeps demo ledgers and real ones apart: only a folder for `DEMO=on` has the marker file. */
import { existsSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { join } from 'node:path'

import { ConfigError } from '../config.ts'
import type { Config } from '../config.ts'

const markerFile = 'demo.txt'

export function isDemoFolder(dataDir: string): boolean {
  return existsSync(join(dataDir, markerFile))
}

export function demoMarkerPath(dataDir: string): string {
  return join(dataDir, markerFile)
}

/** @throws ConfigError if a demo would use a real folder, or a real ledger a demo folder */
export function requireMatchingFolder({ DEMO, DATA_DIR }: Config): void {
  const isDemo = isDemoFolder(DATA_DIR)
  if (DEMO === 'on' && !isDemo) {
    throw new ConfigError(`DEMO: ${DATA_DIR} is not a demo folder; \`npm run demo\` creates one`)
  }
  if (DEMO === 'off' && isDemo) {
    throw new ConfigError(`DATA_DIR: ${DATA_DIR} contains demo data`)
  }
}

export function authoredDir({ DEMO, DATA_DIR }: Config, packageRoot: string): string {
  return DEMO === 'on' ? join(DATA_DIR, 'authored') : join(packageRoot, 'data')
}

export function withDemoHeader({ DEMO }: Config, listener: RequestListener): RequestListener {
  if (DEMO === 'off') return listener
  return (req, res) => {
    res.setHeader('X-Demo', 'true')
    listener(req, res)
  }
}
