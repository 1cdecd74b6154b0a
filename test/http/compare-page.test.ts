/** `/compare`, as a reader without JavaScript uses it. */
import { expect, test } from 'vitest'

import { documentsOf } from '../support/site.ts'
import { useService } from '../support/use-service.ts'
import { smallWorld } from '../support/world.ts'

const service = useService({ documents: documentsOf(smallWorld()), per: 'file' })

async function page(query: string): Promise<string> {
  const response = await fetch(`${service.url}/compare${query}`)
  expect(response.status).toBe(200)
  expect(response.headers.get('cache-control')).toContain('private')
  return await response.text()
}

/** The row of a fact as text. */
function factOf(shown: string, label: string): string {
  const [row = ''] = new RegExp(`<th scope="row"[^>]*>${label}</th>.*?</tr>`, 's').exec(shown) ?? []
  return row
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
}

test('rails are compared by status, judgement, income, doubts, volume, claims and entry', async () => {
  const shown = await page('?rails=alpha,beta,gamma')
  expect(shown).toMatch(/<h1>Rail alpha, .*Beta.* and Rail gamma, side by side<\/h1>/)
  expect(factOf(shown, 'Status')).toMatch(/paying.*pre-traction.*dormant/)
  expect(factOf(shown, 'Status')).toMatch(/rules version \d.*our poll of.*counts of others/)
  expect(factOf(shown, 'Kept volume')).toMatch(/% of .* raw.*unknown/)
  for (const label of ['Middle half, USDC a day', 'Payers', 'Last payout', 'What others say']) {
    expect(factOf(shown, label), label).not.toBe('')
  }
})

test('an unknown figure is written as unknown, never as zero', async () => {
  const shown = await page('?rails=beta,gamma')
  expect(factOf(shown, 'Workers, 30 days')).toBe('Workers, 30 days unknown unknown')
  expect(shown).toContain('What a typical worker earns on all of them is unknown.')
})

test('the form sends one parameter for each rail and shows which are chosen', async () => {
  const shown = await page('?rails=alpha&rails=&rails=delta&rails=alpha&color=red')
  expect(shown).toContain('<h1>Rail alpha and Rail delta, side by side</h1>')
  expect(shown.match(/value="(?:alpha|delta)"\s+checked/g)).toHaveLength(2)
})

test.each([
  ['', 'Choose two to four rails.'],
  ['?rails=,', 'Choose two to four rails.'],
  ['?rails=alpha', 'Choose at least one more rail.'],
  ['?rails=alpha,beta,gamma,delta,alpha,beta', 'side by side'],
  ['?rails=alpha,alfa', 'No rail has the name'],
  ['?rails=a,b,c,d,e', 'No rail has the name'],
  [`?rails=${'x'.repeat(500)}`, 'x'.repeat(80)],
])('/compare%s says “%s” and has the form', async (query, words) => {
  const shown = await page(query)
  expect(shown).toContain(words)
  expect(shown).not.toContain('x'.repeat(81))
  expect(shown).toMatch(/<form[^>]* action="\/compare" method="get"/)
})

test('an unknown name is answered with similar ones, which keep the other rails', async () => {
  const shown = await page('?rails=beta,alph')
  expect(shown).toContain('href="/compare?rails=beta,alpha"')
  expect(await page('?rails=%3Cscript%3Ealert(1)%3C/script%3E')).not.toContain('<script>alert')
})
