/** Documents and Markdown pages of the published set; the address of each is its URI. */
import type { McpServer, ResourceTemplate } from '@modelcontextprotocol/server'

import { mcpReads } from '../contract/mcp.ts'
import { routeOf } from '../contract/routes.ts'
import type { PublishedDocuments } from './published-documents.ts'

const documents = (['listRails', ...Object.values(mcpReads)] as const)
  .map(routeOf)
  .filter(({ serving }) => serving.kind === 'document')

const pagePath = /^\/(?:llms\.txt|docs(?:\/[\w-]+)?\.md|[\w-]+\/SKILL\.md)$/

export function registerResources(
  server: McpServer,
  Template: typeof ResourceTemplate,
  { siteUrl, published }: { readonly siteUrl: string; readonly published: PublishedDocuments },
  notFound: (uri: string) => Error,
): void {
  const read = (uri: URL) => {
    const found = published.text(uri.pathname)
    if (found === null) throw notFound(uri.href)
    const { text, contentType } = found
    return { contents: [{ uri: uri.href, mimeType: contentType, text }] }
  }
  for (const { id, path, params, summary: title, description } of documents) {
    const facts = { title, description }
    const uri = `${siteUrl}${path}`
    if (params === undefined) server.registerResource(id, uri, facts, read)
    else server.registerResource(id, new Template(uri, { list: undefined }), facts, read)
  }
  for (const path of published.paths().filter((each) => pagePath.test(each))) {
    server.registerResource(path, `${siteUrl}${path}`, { mimeType: 'text/markdown' }, read)
  }
}
