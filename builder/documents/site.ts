import { openApiDocument } from '../../src/contract/openapi.ts'
import { apiPrefix } from '../../src/contract/route.ts'
import { routes } from '../../src/contract/routes.ts'
import type { World } from '../world/world.ts'
import { jsonDocument, snapshotFamily, textDocument } from './document.ts'

export const siteDocuments = snapshotFamily(
  ['getOpenApi', 'getSigningKeys', 'getPactsSkill', 'getDeskSkill', 'getRegisterSkill'],
  ['agentSkills', 'signingKeys', 'site'],
  function* (world) {
    const { signingKeys } = world
    yield jsonDocument('getOpenApi', openApiOf(world))
    yield jsonDocument('getSigningKeys', signingKeys)
    yield textDocument('getPactsSkill', agentSkill(world, 'pacts'), { archived: true })
    yield textDocument('getDeskSkill', agentSkill(world, 'desk'), { archived: true })
    const writing = agentSkill(world, 'register-and-earn')
    yield textDocument('getRegisterSkill', writing, { archived: true })
  },
)

type OpenApi = ReturnType<typeof openApiDocument>
/** Cached, since several documents need the OpenAPI document, which depends only on the site. */
const openApis = new WeakMap<World['site'], OpenApi>()

export function openApiOf({ site }: Pick<World, 'site'>): OpenApi {
  const openApi =
    openApis.get(site) ??
    openApiDocument(routes, {
      serviceName: site.serviceName,
      siteUrl: site.url,
      version: site.version,
    })
  openApis.set(site, openApi)
  return openApi
}

export function agentSkill(
  { agentSkills, site }: Pick<World, 'agentSkills' | 'site'>,
  name: string,
): string {
  const text = agentSkills.get(name)
  if (text === undefined) throw new Error(`data/agent-skills/${name}/SKILL.md is missing`)
  return text
    .replaceAll('{SITE_URL}', site.url)
    .replaceAll('{BASE_URL}', `${site.url}${apiPrefix}`)
    .replaceAll('{SERVICE_NAME}', site.serviceName)
}
