import { join } from 'node:path'

import { z } from 'zod'

import type { PlatformKeys } from '../../src/auth/verify-receipt.ts'
import { platform } from '../../src/contract/schemas/platform.ts'
import type { Platform } from '../../src/contract/schemas/platform.ts'
import { packageRoot } from '../../src/runtime/runtime.ts'
import { readJsonObject } from './files.ts'
import { parseOrUsageError } from './input.ts'

const platformsFile = z.strictObject({ platforms: z.array(platform) })

export function dataDir(named?: string): string {
  return named ?? join(packageRoot, 'data')
}

export function platformsPath(named?: string): string {
  return join(dataDir(named), 'platforms.json')
}

/** @throws UsageError */
export function readPlatforms(path: string): readonly Platform[] {
  const problem = `${path} is not a registry of platforms: `
  return parseOrUsageError(platformsFile, readJsonObject(path), problem).platforms
}

/** Keys by platform slug, including revoked keys, which verify older receipts. */
export function platformKeys(path: string | undefined): PlatformKeys {
  const platforms = readPlatforms(path ?? platformsPath())
  return new Map(platforms.map((entry) => [entry.platform, entry.public_key]))
}
