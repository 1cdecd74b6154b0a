/** `npm run openapi`: prints the OpenAPI document for the settings in the environment. */
import { openApiDocument } from '../src/contract/openapi.ts'
import { routes } from '../src/contract/routes.ts'
import { version } from '../src/contract/version.ts'
import { configOrExit } from '../src/runtime/runtime.ts'

const { SERVICE_NAME: serviceName, SITE_URL: siteUrl } = configOrExit()
const document = openApiDocument(routes, { serviceName, siteUrl, version })
process.stdout.write(`${JSON.stringify(document, null, 2)}\n`)
