/** `<file>`: makes a PNG of each SVG text in a JSON array by sharp alone, one after the other. */
import { readFileSync } from 'node:fs'

import sharp from 'sharp'
import { z } from 'zod'

import { median } from '../rows.ts'
import { report, textArgument, timed } from '../task.ts'

const svgs = z.array(z.string()).parse(JSON.parse(readFileSync(textArgument(0), 'utf8')))
const draw = async (svg: string) => await sharp(Buffer.from(svg)).png().toBuffer()
await draw(svgs[0] ?? '')
const times: number[] = []
for (const svg of svgs) times.push((await timed(() => draw(svg))).ms)
report({ ms: median(times) })
