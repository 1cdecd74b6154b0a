/** `<public> <keys> <version> [rails]`: publishes one version of a world. */
import { loadKeys } from '../../../src/auth/service-keys.ts'
import { publishedDirectory } from '../../support/published-directory.ts'
import { publishDefaults, startMs, worldOf } from './set.ts'

const [publicDir = '', keysDir = '', version = '0', rails = '12'] = process.argv.slice(2)
const nowMs = startMs + Number(version) * 1000
const keys = await loadKeys({ dir: keysDir, nowMs })
const documents = worldOf(Number(version), Number(rails))
const { publish, close } = await publishedDirectory(publicDir)
await publish({ ...publishDefaults(keys), documents, nowMs })
await close()
