/** `<public> <keys> <version> <step> [rails]`: publishes one version of a world; SIGKILL to itself before that step. */
import { loadKeys } from '../../../builder/publish/keys.ts'
import { publish } from '../../../builder/publish/publish.ts'
import { publishDefaults, startMs, worldOf } from './set.ts'

const [publicDir = '', keysDir = '', version = '0', dieAtStep = '0', rails = '12'] =
  process.argv.slice(2)
const nowMs = startMs + Number(version) * 1000
const keys = await loadKeys({ dir: keysDir, nowMs })
let step = 0
await publish({
  ...publishDefaults(publicDir, keys),
  documents: worldOf(Number(version), Number(rails)),
  nowMs,
  beforeStep: () => {
    if (step === Number(dieAtStep)) process.kill(process.pid, 'SIGKILL')
    step += 1
  },
})
