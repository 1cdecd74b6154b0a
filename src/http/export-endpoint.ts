import { ApiError } from '../contract/errors.ts'
import { routeOf } from '../contract/routes.ts'
import { cacheControl, entityTag, exportPartKey } from '../core/documents.ts'
import type { ReadableFiles } from '../files/readable-files.ts'
import { matches } from './conditional.ts'
import type { Endpoint } from './context.ts'
import { apiHeaders } from './headers.ts'
import type { PublishedDocuments } from './published-documents.ts'
import { onResponseEnd } from './response-end.ts'

const maxAgeSeconds = 3600
/** Each download has one part of its file in memory, and one in the buffer of its connection. */
const MAX_DOWNLOADS = 64
const MAX_OF_NETWORK = 4

/** Sends the files that the published `/export.json` names, so that size and hash match it. */
export function exportEndpoint(
  { find }: Pick<PublishedDocuments, 'find'>,
  getFile: ReadableFiles['get'],
): Endpoint {
  /** The network of each download. */
  const active: (number | null)[] = []

  async function* partsOf(sha256: string, size: number) {
    for (let [part, sent] = [0, 0]; sent < size; part += 1) {
      const found = await getFile(exportPartKey(sha256, part))
      if (found === null) throw new Error(`part ${part} of the export ${sha256} is missing`)
      sent += found.bytes.length
      yield found.bytes
    }
  }

  return {
    route: routeOf('getExportFile'),
    concurrency: 'read',
    prepare: (c) => async () => {
      const files = find('getExport', {})?.files ?? []
      const file = files.find(({ path }) => path === c.env.path)
      if (file === undefined) throw new ApiError('not_found')
      const { content_type: contentType, sha256, size } = file
      const etag = entityTag(sha256, 'identity')
      const headers = { ...apiHeaders, ETag: etag, 'Cache-Control': cacheControl(maxAgeSeconds) }
      if (matches(c.req.header('if-none-match') ?? '', etag)) {
        return new Response(null, { status: 304, headers })
      }
      const { network } = c.env.admission
      const ofNetwork = network === null ? [] : active.filter((one) => one === network)
      if (active.length >= MAX_DOWNLOADS || ofNetwork.length >= MAX_OF_NETWORK) {
        const later = { headers: { 'Retry-After': '30' } }
        throw new ApiError('unavailable', 'Too many downloads are in progress', later)
      }
      active.push(network)
      onResponseEnd(c.env, () => active.splice(active.indexOf(network), 1))
      c.env.bytes = size
      const described = { 'Content-Type': contentType, 'Content-Length': String(size) }
      return new Response(streamOf(partsOf(sha256, size)), {
        headers: { ...headers, ...described },
      })
    },
  }
}

/** Reads a part only when the client has taken the one before. */
function streamOf(parts: AsyncGenerator<Uint8Array>): ReadableStream {
  return new ReadableStream(
    {
      async pull(controller) {
        const next = await parts.next()
        if (next.done === true) controller.close()
        else controller.enqueue(next.value)
      },
      cancel: async () => void (await parts.return(undefined)),
    },
    { highWaterMark: 0 },
  )
}
