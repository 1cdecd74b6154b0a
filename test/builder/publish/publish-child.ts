import { publish } from '../../../builder/publish/publish.ts'
/** `<public> <keys> <version> [rails]`: publishes one version of a world. */
import { loadKeys } from '../../../src/auth/service-keys.ts'
import { publishDefaults, startMs, worldOf } from './set.ts'

const [publicDir = '', keysDir = '', version = '0', rails = '12'] = process.argv.slice(2)
const nowMs = startMs + Number(version) * 1000
const keys = await loadKeys({ dir: keysDir, nowMs })
const documents = worldOf(Number(version), Number(rails))
await publish({ ...publishDefaults(publicDir, keys), documents, nowMs })
