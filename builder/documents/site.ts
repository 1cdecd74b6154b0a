import { didOf } from '../../src/auth/offer-receipt.ts'
import { openApiDocument } from '../../src/contract/openapi.ts'
import { apiPrefix } from '../../src/contract/route.ts'
import { routes } from '../../src/contract/routes.ts'
import { memoizeLatest } from '../cache/memoize.ts'
import type { World } from '../world/world.ts'
import { jsonDocument, snapshotFamily, textDocument } from './document.ts'

export const siteDocuments = snapshotFamily(
  ['agentSkills', 'exported', 'signingKeys', 'site'],
  function* (world) {
    yield jsonDocument('getIndex', indexOf(world))
    yield jsonDocument('getOpenApi', openApiOf(world))
    yield jsonDocument('getSigningKeys', world.signingKeys)
    yield jsonDocument('getDidDocument', didDocumentOf(world))
    if (world.exported !== null) yield jsonDocument('getExport', world.exported, { archive: null })
    yield textDocument('getPactsSkill', agentSkill(world, 'pacts'), { archived: true })
    yield textDocument('getDeskSkill', agentSkill(world, 'desk'), { archived: true })
    const writing = agentSkill(world, 'register-and-earn')
    yield textDocument('getRegisterSkill', writing, { archived: true })
  },
)

/** Retired keys are left out, since somebody may still hold one. */
function didDocumentOf({ signingKeys, site }: Pick<World, 'signingKeys' | 'site'>): object {
  const id = didOf(site.url)
  const active = signingKeys.keys.filter(({ status }) => status === 'active')
  const verificationMethod = active.map(({ kid, public_key: key }) => ({
    id: `${id}#${kid}`,
    type: 'JsonWebKey',
    controller: id,
    publicKeyJwk: {
      kty: 'OKP',
      crv: 'Ed25519',
      x: Buffer.from(key, 'base64').toString('base64url'),
    },
  }))
  const assertionMethod = verificationMethod.map((method) => method.id)
  const context = ['https://www.w3.org/ns/did/v1', 'https://w3id.org/security/jwk/v1']
  return { '@context': context, id, verificationMethod, assertionMethod }
}

function indexOf({ site }: Pick<World, 'site'>): object {
  const requests = routes.map(({ id, method, path, summary, access, price }) => {
    return {
      id,
      method,
      path,
      summary,
      access,
      ...(price === undefined ? {} : { price_usdc: price }),
    }
  })
  return {
    service: site.serviceName,
    version: site.version,
    docs: `${site.url}/docs`,
    openapi: `${site.url}/openapi.json`,
    requests,
  }
}

/** Cached, since several documents need the OpenAPI document, which depends only on the site. */
const openApi = memoizeLatest(({ serviceName, url: siteUrl, version }: World['site']) =>
  openApiDocument(routes, { serviceName, siteUrl, version }),
)

export function openApiOf({ site }: Pick<World, 'site'>) {
  return openApi(site)
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
