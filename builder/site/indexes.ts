/** Indexes for programs: llms.txt, robots.txt, the sitemap and the well-known files. */
import { createHash } from 'node:crypto'

import { mcpPath } from '../../src/contract/route.ts'
import { parseFrontMatter } from '../../src/core/front-matter.ts'
import { isoTime } from '../../src/core/time.ts'
import { xmlText } from '../../src/core/xml-text.ts'
import { markdownText } from '../../src/pages/html-and-markdown.ts'
import { markdownPath } from '../../src/pages/page.ts'
import type { SitePage } from '../../src/pages/page.ts'
import { plainJson, unarchived } from '../documents/document.ts'
import { agentSkill } from '../documents/site.ts'
import type { PublicDocument } from '../publish/document.ts'
import type { World } from '../world/world.ts'

const maxAgeSeconds = 300
const plain = 'text/plain; charset=utf-8'
const mcpCardPath = '/.well-known/mcp/server-card.json'
const mcpCardType = 'application/mcp-server-card+json'
const openApiType = 'application/vnd.oai.openapi+json'

export function* indexDocuments(
  pages: readonly SitePage[],
  world: Pick<World, 'agentSkills' | 'nowMs' | 'site'>,
): Generator<PublicDocument> {
  yield text('/llms.txt', plain, llms(pages, world))
  yield text('/robots.txt', plain, robots(world))
  yield text('/sitemap.xml', 'application/xml', sitemap(pages, world))
  yield text('/.well-known/security.txt', plain, security(world))
  const catalog = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'
  yield json('/.well-known/api-catalog', catalog, apiCatalog(world))
  yield json(mcpCardPath, mcpCardType, mcpCard(world))
  yield json(`${mcpPath}/server-card`, mcpCardType, mcpCard(world))
  yield json('/.well-known/ai-catalog.json', 'application/ai-catalog+json', aiCatalog(world))
  yield json('/.well-known/agent-skills/index.json', 'application/json', skillIndex(world))
}

function text(path: string, contentType: string, body: string): PublicDocument {
  return unarchived(path, contentType, maxAgeSeconds, { text: body })
}

function json(path: string, contentType: string, value: object): PublicDocument {
  return unarchived(path, contentType, maxAgeSeconds, plainJson(value))
}

/** In the format of llmstxt.org, with the Markdown form of each page. */
function llms(pages: readonly SitePage[], world: Pick<World, 'agentSkills' | 'site'>): string {
  const { site } = world
  const api = `${site.url}/api/v1`
  const entry = (url: string, name: string, note: string) =>
    `- [${markdownText(name)}](${url}): ${markdownText(note)}`
  const listed = pages.filter((page) => page.listed !== false)
  const pageEntry = (page: SitePage) =>
    entry(`${site.url}${markdownPath(page.path)}`, page.title, page.description)
  const rails = listed.filter(({ path }) => path.startsWith('/rails/'))
  const articles = listed.filter(({ path }) => path.startsWith('/desk/'))
  const docs = listed.filter(({ path }) => path.startsWith('/docs') || path === '/changelog')
  // One line for each of them would be longer than the rest; the list of skills links to all.
  const skillPages = listed.filter(({ path }) => path.startsWith('/skills/'))
  const special = new Set([...rails, ...articles, ...docs, ...skillPages])
  const skills = [...world.agentSkills.keys()].map((name) => {
    const note = skillDescription(agentSkill(world, name))
    return entry(`${site.url}/${name}/SKILL.md`, `Skill: ${name}`, note)
  })
  return `# Agent Income Ledger

> What income channels ("rails") for AI agents really pay: figures with method, age, evidence and signature. Public reads need no key.

Every document and every answer under /api/v1 is signed with ed25519 (\`X-Signature\` over the bytes of the body; keys at ${site.url}/.well-known/signing-keys.json). If a figure is listed in \`unknown_figures\`, its value is 0 but the real value is unknown. Every page except /match and /compare is also Markdown: append \`.md\` to its address, as in the links below, or send \`Accept: text/markdown\`, which redirects there (\`curl -L\`). The command \`agent-income-ledger\` comes with the source code (${site.url}/docs/client.md#command-line), and sends plain HTTP requests that the API reference lists.

## Data

${entry(`${api}/rails`, 'Rails', 'all rails with figures, status, method and age')}
${entry(`${api}/opportunities`, 'Opportunities', 'rails that pay now, highest expected income first, with caveats')}
${entry(`${api}/honesty/flags`, 'Honesty flags', 'open doubts about figures, with evidence, and failed polls')}
${entry(`${api}/pacts`, 'Pacts', 'settlements that can be verified on-chain')}
${entry(`${api}/receipts`, 'Receipts', 'who was paid on which rail; one receipt is at /api/v1/receipts/{id}, and ?wallet= selects the receipts of a worker')}
${entry(`${api}/leaderboard`, 'Leaderboard', 'reputation by verified receipts, with the formula of the score')}
${entry(`${api}/stats/live`, 'Aggregate', 'totals of the ledger')}
${entry(`${site.url}/export.json`, 'Export', 'all public data as one SQLite file and as CSV, once a day, with hashes')}
${entry(`${site.url}/openapi.json`, 'OpenAPI', 'every endpoint and schema')}
${entry(`${site.url}/.well-known/x402`, 'Offers', 'reads sold per request in USDC, and whether this installation accepts payments; with schemas for catalogues: /.well-known/x402.json')}
${entry(`${site.url}${mcpCardPath}`, 'MCP', `read-only tools over the Model Context Protocol at ${site.url}${mcpPath}: streamable HTTP, no sessions, no key`)}
${entry(`${site.url}/snapshot.json`, 'Manifest', 'every document with its hash and signature')}
${entry(`${site.url}/llms-full.txt`, 'Guides in one file', 'the documentation without the API reference, after the skills, as Markdown')}

## Skills

${skills.join('\n')}

## Documentation

${docs.map(pageEntry).join('\n')}

## Pages

${listed
  .filter((page) => !special.has(page))
  .map(pageEntry)
  .join('\n')}

## Rails

${rails.map(pageEntry).join('\n')}

## Optional

${articles.map(pageEntry).join('\n')}
`
}

/** The start of llms-full.txt: its title and the skill files. */
export function introOf(world: Pick<World, 'agentSkills' | 'site'>): string {
  const skills = [...world.agentSkills.keys()].map((name) => agentSkill(world, name).trim())
  const head = `# Agent Income Ledger, guides

> The documentation as Markdown, after the skill files. The API is described in ${world.site.url}/openapi.json; ${world.site.url}/llms.txt links the lists and all other pages.`
  return [head, ...skills].join('\n\n')
}

function robots({ site }: Pick<World, 'site'>): string {
  return `# All pages are public and intended for programs and for people. Comparisons are made on request and count against the limits.
User-agent: *
Allow: /
Disallow: /compare?

Sitemap: ${site.url}/sitemap.xml
`
}

/** Contains no `lastmod`, which would depend on every other document. */
function sitemap(pages: readonly SitePage[], { site }: Pick<World, 'site'>): string {
  const urls = pages
    .filter((page) => page.listed !== false)
    .map(({ path }) => `<url><loc>${xmlText(`${site.url}${path}`)}</loc></url>\n`)
  return `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
${urls.join('')}</urlset>
`
}

/** RFC 9116. Expires in about six months; renewed every month. */
function security({ site, nowMs }: Pick<World, 'nowMs' | 'site'>): string {
  const now = new Date(nowMs)
  const expiresMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 6, 1)
  return `Contact: ${site.url}/docs/contact
Expires: ${isoTime(expiresMs)}
Preferred-Languages: en
Canonical: ${site.url}/.well-known/security.txt
`
}

/** RFC 9727. */
function apiCatalog({ site }: Pick<World, 'site'>) {
  return {
    linkset: [
      {
        anchor: `${site.url}/api/v1`,
        'service-desc': [{ href: `${site.url}/openapi.json`, type: 'application/json' }],
        'service-doc': [
          { href: `${site.url}/docs/reference`, type: 'text/html' },
          { href: `${site.url}/docs/reference.md`, type: 'text/markdown' },
          { href: `${site.url}/llms.txt`, type: 'text/plain' },
        ],
        status: [{ href: `${site.url}/api/v1/health`, type: 'application/json' }],
      },
    ],
  }
}

/** AI catalogue (draft of the Linux Foundation): what an agent can use here. */
function aiCatalog({ site, agentSkills }: Pick<World, 'agentSkills' | 'site'>) {
  const { hostname } = new URL(site.url)
  const entry = (name: string, displayName: string, type: string, path: string) => ({
    identifier: `urn:air:${hostname}:${name}`,
    displayName,
    type,
    url: `${site.url}${path}`,
  })
  return {
    specVersion: '1.0',
    entries: [
      entry(`${site.serviceName}-mcp`, 'Agent Income Ledger (MCP)', mcpCardType, mcpCardPath),
      entry(`${site.serviceName}-api`, 'Agent Income Ledger (API)', openApiType, '/openapi.json'),
      ...[...agentSkills.keys()].map((name) =>
        entry(`skill-${name}`, `Skill: ${name}`, 'text/markdown', `/${name}/SKILL.md`),
      ),
    ],
  }
}

/** Connection details for clients of the Model Context Protocol. */
function mcpCard({ site }: Pick<World, 'site'>) {
  const host = new URL(site.url).hostname.split('.').toReversed().join('.')
  return {
    $schema: 'https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json',
    name: `${host}/${site.serviceName}`,
    version: site.version,
    title: 'Agent Income Ledger',
    description: 'What income channels for AI agents really pay: read-only tools.',
    websiteUrl: site.url,
    remotes: [
      {
        type: 'streamable-http',
        url: `${site.url}${mcpPath}`,
        supportedProtocolVersions: ['2025-11-25', '2026-07-28'],
      },
    ],
  }
}

/** Discovery index of agent skills, version 0.2.0, with the digest of each file as served. */
function skillIndex(world: Pick<World, 'agentSkills' | 'site'>) {
  const skills = [...world.agentSkills.keys()].toSorted().map((name) => {
    const body = agentSkill(world, name)
    return {
      name,
      type: 'skill-md',
      description: skillDescription(body),
      url: `${world.site.url}/${name}/SKILL.md`,
      digest: `sha256:${createHash('sha256').update(body, 'utf8').digest('hex')}`,
    }
  })
  return { $schema: 'https://schemas.agentskills.io/discovery/0.2.0/schema.json', skills }
}

function skillDescription(body: string): string {
  const description = parseFrontMatter(body).fields['description']
  if (typeof description !== 'string') throw new Error('a skill file has no description')
  return description
}
