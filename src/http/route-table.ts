import type { Endpoint, Resource, RouteMatch, TableRoute } from './context.ts'

export type RouteTable = (path: string) => RouteMatch | null

/** Literal paths take precedence over paths with parameters. */
export function createRouteTable(
  routes: readonly TableRoute[],
  endpoints: readonly Endpoint[] = [],
): RouteTable {
  const all = [...routes, ...endpoints.map(({ route }) => route)]
  const exact = new Map<string, RouteMatch>()
  const patterns: { readonly pattern: RegExp; readonly resource: Resource }[] = []
  for (const path of new Set(all.map((route) => route.path))) {
    const resource = resourceOf(
      path,
      all.filter((route) => route.path === path),
      endpoints.filter(({ route }) => route.path === path),
    )
    if (path.includes('{')) patterns.push({ pattern: patternOf(path), resource })
    else exact.set(path, { resource, params: {} })
  }
  return (path) => {
    const known = exact.get(path)
    if (known !== undefined) return known
    for (const { pattern, resource } of patterns) {
      const found = pattern.exec(path)
      if (found !== null) return { resource, params: found.groups ?? {} }
    }
    return null
  }
}

function resourceOf(
  path: string,
  routes: readonly TableRoute[],
  endpoints: readonly Endpoint[],
): Resource {
  const methods = new Set<string>(routes.map(({ method }) => method))
  if (methods.has('GET')) methods.add('HEAD')
  methods.add('OPTIONS')
  const isPage = endpoints.some((endpoint) => endpoint.isPage === true)
  const byMethod = new Map<string, Endpoint>(
    endpoints.map((endpoint) => [endpoint.route.method, endpoint]),
  )
  return {
    label: isPage ? 'page' : path,
    methods: isPage ? null : [...methods],
    notFound: routes.flatMap(({ answers }) => answers?.[404]?.code ?? [])[0] ?? 'not_found',
    isDocument: routes.some(({ serving }) => serving.kind === 'document'),
    endpointOf: (method) => byMethod.get(method === 'HEAD' ? 'GET' : method) ?? null,
  }
}

/** A parameter is a segment or part of one, as in `/rails/{name}/history.csv`; `{tile}` has several segments. */
function patternOf(path: string): RegExp {
  const escaped = path.replaceAll(/[.*+?^$()|[\]\\]/g, String.raw`\$&`)
  return new RegExp(
    `^${escaped.replace('{tile}', '(?<tile>.+)').replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`,
  )
}
