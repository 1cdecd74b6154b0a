import { z } from 'zod'

import { text } from './common.ts'

export const cardPages = [
  '/',
  '/rails/{name}',
  '/opportunities',
  '/honesty',
  '/leaderboard',
  '/pacts',
  '/desk',
  '/desk/{slug}',
] as const

export const cardPage = text(150).regex(
  /^\/(?:opportunities|honesty|leaderboard|pacts|desk|rails\/[a-z0-9][a-z0-9_-]{0,63}|desk\/[a-z0-9]+(?:-[a-z0-9]+)*)?$/,
  `must be the path of a page: ${cardPages.join(', ')}`,
)

export const cardFormat = z.enum(['svg', 'png'])
