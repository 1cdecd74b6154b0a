import { expect, test } from 'vitest'

import { createPngRenderer } from '../../src/http/png.ts'

const svgOf = (width: number) =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="1"></svg>`

test('concurrent and later calls share an image', async () => {
  const render = createPngRenderer()
  const [one, two] = await Promise.all([render(svgOf(2)), render(svgOf(2))])
  expect(two).toBe(one)
  expect(await render(svgOf(2))).toBe(one)
})

test('the image used last is kept longest', async () => {
  const render = createPngRenderer()
  const first = await render(svgOf(1))
  const second = await render(svgOf(2))
  expect(await render(svgOf(1))).toBe(first)
  for (let width = 3; width <= 129; width += 1) await render(svgOf(width))
  expect(await render(svgOf(1))).toBe(first)
  expect(await render(svgOf(2))).not.toBe(second)
})
