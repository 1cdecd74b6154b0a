import { expect, test } from 'vitest'

import { similar } from '../../src/core/similar.ts'

const names = [
  'translation',
  'legal-document-translation',
  'web-scraping',
  'x402',
  'x402_base',
  'execution_market',
  'agentverse',
]

test.each([
  ['Translation', ['translation', 'legal-document-translation']],
  ['trnslation', ['translation', 'legal-document-translation']],
  ['web scraper', ['web-scraping']],
  ['x_402', ['x402', 'x402_base']],
  ['Execution-Market', ['execution_market']],
  ['market', ['execution_market']],
  ['cooking', []],
  ['page', []],
  ['x', []],
  ['', []],
])('names similar to "%s" are %j', (text, expected) => {
  expect(similar(names, text)).toEqual(expected)
})
