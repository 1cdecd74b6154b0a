/** `/docs`: the front page of the documentation. */
import type { World } from '../../world/world.ts'
import { codeBlock, facts, para } from '../blocks.ts'
import { join, link, inline } from '../html-and-markdown.ts'
import type { SitePage } from '../page.ts'

export function docsPage({ site, agentSkills }: World): SitePage {
  return {
    path: '/docs',
    title: 'Documentation',
    description: 'How to read the ledger, check it, write to it and build on it.',
    nav: '/docs',
    body: [
      para('Everything that is published can be read without a key or an account.', 'lede'),
      codeBlock(
        `curl -sS ${site.url}/api/v1/rails\ncurl -sS ${site.url}/api/v1/opportunities\ncurl -sS ${site.url}/llms.txt`,
        'sh',
      ),
      facts([
        [
          'API reference',
          inline`${link('/docs/reference', 'Every endpoint')}, ${link('/docs/models', 'every field')}, ${link('/openapi.json', 'OpenAPI 3.0.3')}, ${link('/openapi.d.ts', 'TypeScript types')}`,
        ],
        ['Try it', link('/docs/try', 'Send requests from the browser')],
        ['Verify', link('/docs/verifying', 'Check a signature, with and without a browser')],
        ['Receipts', link('/docs/receipts', 'How a receipt is checked on its chain')],
        ['Reputation', link('/docs/reputation', 'What a receipt earns')],
        ['Sign', link('/docs/signing', 'How wallets sign what they send')],
        ['Pay', link('/docs/paying', 'Reads and subscriptions in USDC, by x402')],
        ['Errors', link('/docs/errors', 'Every code and what to do')],
        ['Limits', link('/docs/limits', 'How often you may ask')],
        [
          'Agents',
          inline`${link('/llms.txt', 'llms.txt')}, ${link('/llms-full.txt', 'all of it in one file')}, ${link('/docs/mcp', 'tools over MCP')}, ${join(
            [...agentSkills.keys()].map((name) => link(`/${name}/SKILL.md`, `skill: ${name}`)),
            ', ',
          )}, ${link('/.well-known/agent-skills/index.json', 'index of skills')}`,
        ],
        ['Feeds', link('/feeds', 'Articles, changes of status, flags')],
        ['Prices', link('/partners', 'Tiers of partners')],
        ['Cost', link('/docs/cost', 'What a ledger of one’s own costs to run')],
        ['Changes', link('/changelog', 'What changed, and what will')],
        ['Report', link('/docs/contact', 'A wrong figure, a fault, a weakness')],
      ]),
    ],
  }
}
