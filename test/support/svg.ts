import { expect } from 'vitest'

const markup =
  /<(?<close>\/?)(?<name>[a-z]+)(?<attributes>(?: [a-z][a-z\d-]*(?::[a-z]+)?="[^"<>]*")*)(?<empty>\/?)>/gi

/** Returns each element of an SVG with the names of its attributes. Fails if the text is not well-formed. */
export function svgElements(svg: string): string[] {
  const open: string[] = []
  const elements: string[] = []
  for (const { groups = {} } of svg.matchAll(markup)) {
    const { close, name = '', attributes = '', empty } = groups
    if (close !== '') {
      expect(open.pop()).toBe(name)
      continue
    }
    const names = [...attributes.matchAll(/ ([a-z\d:-]+)="[^"]*"/gi)].map(([, key]) => key)
    elements.push(`${name} ${names.join(' ')}`)
    if (empty === '') open.push(name)
  }
  expect(open).toEqual([])
  expect(svg.replace(markup, '')).not.toMatch(/[<>]/)
  expect(svg).not.toMatch(/&(?!(?:amp|lt|gt|quot|#39);)/)
  return elements
}
