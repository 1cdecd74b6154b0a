/** Runs git isolated from settings, prompts and hooks of the machine. */
import { spawn } from 'node:child_process'
import { kill } from 'node:process'

/** The message is the output of git without credentials. */
export class GitError extends Error {
  override readonly name = 'GitError'
}

export class GitMissingError extends Error {
  override readonly name = 'GitMissingError'
}

export interface Git {
  readonly repoDir: string
  readonly env: GitEnvironment
  /** Passed in the environment, since process lists show arguments. */
  readonly remote: string | null
  /** Default one minute. */
  readonly timeoutMs?: number
}

export type GitEnvironment = Readonly<
  Partial<Record<'HOME' | 'PATH' | 'SSH_AUTH_SOCK', string | undefined>>
>

export const REMOTE_NAME = 'archive'
export const GIT_TIMEOUT_MS = 60_000
const MAX_OUTPUT_BYTES = 256 * 1024 * 1024
const USUAL_PATH = '/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin'

export const AUTHOR = { name: 'Agent Income Ledger', email: 'ledger@localhost' } as const

const SETTINGS = {
  // For the reflog.
  'user.name': AUTHOR.name,
  'user.email': AUTHOR.email,
  'core.hooksPath': '/dev/null',
  'core.fsync': 'committed,reference',
  'core.attributesFile': '/dev/null',
  'core.logAllRefUpdates': 'true',
  'credential.helper': '',
  'http.followRedirects': 'false',
  'http.lowSpeedLimit': '1000',
  'http.lowSpeedTime': '20',
  'transfer.fsckObjects': 'true',
} as const satisfies Record<string, string>

/** @throws GitError on failure, after a minute or for too much output; GitMissingError */
export async function runGit(
  git: Git,
  args: readonly string[],
  input?: Uint8Array,
): Promise<Buffer> {
  return await new Promise((resolve, reject) => {
    const child = spawn('git', [`--git-dir=${git.repoDir}`, ...args], {
      env: environment(git),
      cwd: '/',
      // A separate process group, so that ssh ends together with git.
      detached: true,
    })
    let stopped: string | null = null
    const stop = (reason: string): void => {
      stopped ??= reason
      try {
        if (child.pid !== undefined) kill(-child.pid, 'SIGKILL')
      } catch {
        // git has ended, and a process outside its group keeps the output open.
      }
      for (const stream of child.stdio) stream?.destroy()
    }
    const timer = setTimeout(() => stop('took too long'), git.timeoutMs ?? GIT_TIMEOUT_MS)
    const [output, errors] = [child.stdout, child.stderr].map((stream) => {
      const chunks: Buffer[] = []
      let bytes = 0
      stream.on('data', (chunk: Buffer) => {
        bytes += chunk.byteLength
        if (bytes > MAX_OUTPUT_BYTES) stop('wrote too much')
        else chunks.push(chunk)
      })
      return chunks
    })
    child.once('error', (error) => {
      clearTimeout(timer)
      const isMissing = 'code' in error && error.code === 'ENOENT'
      reject(isMissing ? new GitMissingError('git is not installed') : new GitError(error.message))
    })
    child.once('close', (code) => {
      clearTimeout(timer)
      if (code === 0 && stopped === null) return resolve(Buffer.concat(output ?? []))
      const reason =
        stopped ??
        Buffer.concat(errors ?? [])
          .toString('utf8')
          .trim()
      const text = `git ${args[0] ?? ''}: ${reason === '' ? 'failed' : reason}`
      return reject(new GitError(withoutCredentials(text, git.remote)))
    })
    // git may exit before it has read everything; its exit code explains why.
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
  })
}

function environment({ env, remote }: Git): NodeJS.ProcessEnv {
  const config: Record<string, string> = { ...SETTINGS }
  if (remote !== null) config[`remote.${REMOTE_NAME}.url`] = remote
  const entries = Object.entries(config)
  return {
    PATH: env.PATH ?? USUAL_PATH,
    HOME: env.HOME ?? '/nonexistent',
    ...(env.SSH_AUTH_SOCK !== undefined && { SSH_AUTH_SOCK: env.SSH_AUTH_SOCK }),
    LC_ALL: 'C',
    TZ: 'UTC',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: 'true',
    SSH_ASKPASS: 'true',
    GIT_SSH_COMMAND: 'ssh -o BatchMode=yes -o ConnectTimeout=15',
    GIT_ALLOW_PROTOCOL: 'file:git:http:https:ssh',
    GIT_CONFIG_COUNT: String(entries.length),
    ...Object.fromEntries(
      entries.flatMap(([name, value], index) => [
        [`GIT_CONFIG_KEY_${index}`, name],
        [`GIT_CONFIG_VALUE_${index}`, value],
      ]),
    ),
  }
}

const MAX_MESSAGE_CHARS = 400

export function withoutCredentials(text: string, remote: string | null): string {
  let clean = text
  for (const secret of remote === null ? [] : secretsOf(remote)) {
    clean = clean.replaceAll(secret, '***')
  }
  clean = clean.replaceAll(/:\/\/[^\s/@']*@/g, '://').replaceAll(/\s+/g, ' ')
  return clean.length > MAX_MESSAGE_CHARS ? `${clean.slice(0, MAX_MESSAGE_CHARS)}…` : clean
}

function secretsOf(remote: string): string[] {
  if (!URL.canParse(remote)) return []
  const { username, password, search } = new URL(remote)
  // A user without a password is a token (https) or `git` (ssh).
  const user = username === 'git' ? [] : [username]
  return [password, search.slice(1), ...user]
    .flatMap((part) => [part, decodeURIComponent(part)])
    .filter((part) => part !== '')
    .sort((left, right) => right.length - left.length)
}
