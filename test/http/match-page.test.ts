/** `/match`, as a reader without JavaScript uses it. */
import { expect, test } from 'vitest'

import { documentsOf } from '../support/site.ts'
import { useService } from '../support/use-service.ts'
import { smallWorld } from '../support/world.ts'

const world = smallWorld()
const [skill] = world.taxonomy.skills
const service = useService({ documents: documentsOf(world), per: 'file' })

async function page(query: string): Promise<string> {
  const response = await fetch(`${service.url}/match${query}`)
  expect(response.status).toBe(200)
  expect(response.headers.get('cache-control')).toContain('private')
  return await response.text()
}

test('without wishes every paying rail is listed, and the others with the reason', async () => {
  const shown = await page('')
  expect(shown).toMatch(
    /<strong>2 rails<\/strong> pay now: 2 with an open warning or old figures\./,
  )
  expect(shown).toContain('<h3><a href="/rails/alpha">')
  expect(shown).toContain('Not in the list, and why')
})

test('a rail with an open warning comes after the others', async () => {
  const shown = await page('')
  const [clear, warned] = shown.split('id="warned"')
  expect(clear).not.toContain('<h3><a href="/rails/alpha">')
  expect(warned).toMatch(/<h3><a href="\/rails\/alpha">[^]*<strong>Warning:<\/strong>/)
})

test('wishes fill the form, the sentence and the call for programs', async () => {
  const shown = await page(`?skill=${skill?.slug}&max_entry_usdc=0&chain=base&has=evm`)
  expect(shown).toContain(`value="${skill?.slug}"`)
  expect(shown).toMatch(/value="evm"\s+checked/)
  expect(shown).toContain(
    `/api/v1/opportunities?skill=${skill?.slug}&amp;chain=base&amp;max_entry_usdc=0`,
  )
})

test('an unknown skill is answered with similar ones, and no text of the query becomes markup', async () => {
  const near = await page(`?skill=${skill?.slug.slice(0, -2)}`)
  expect(near).toContain(`href="/match?skill=${skill?.slug}"`)
  expect(await page('?skill=%3Cscript%3Ealert(1)%3C/script%3E')).not.toContain('<script>alert')
})

test('values that cannot be used are ignored like unknown parameters of pages', async () => {
  const plain = await page('')
  expect(await page('?max_entry_usdc=-3&has=yacht&color=red')).toContain(
    /<strong>.*?<\/strong>/.exec(plain)?.[0] ?? 'no answer',
  )
})
