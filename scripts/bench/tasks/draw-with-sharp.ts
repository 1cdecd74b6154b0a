import { readFileSync } from 'node:fs'

import sharp from 'sharp'
import { z } from 'zod'

import { median } from '../../../src/core/median.ts'
import { timed } from '../task.ts'

/** Makes a PNG of each SVG text in a JSON array by sharp alone, one after the other. */
export async function run(file: string) {
  const svgs = z.array(z.string()).parse(JSON.parse(readFileSync(file, 'utf8')))
  const draw = async (svg: string) => await sharp(Buffer.from(svg)).png().toBuffer()
  await draw(svgs[0] ?? '')
  const times: number[] = []
  for (const svg of svgs) times.push((await timed(() => draw(svg))).ms)
  return { ms: median(times) }
}
