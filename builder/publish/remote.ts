/** Where people can browse a git remote. */

const httpsRemote = /^https:\/\/(?:[^@/\s]*@)?([a-z0-9.-]+(?::\d+)?)\/([\w./~-]+?)(?:\.git)?\/?$/i
const sshRemote = /^(?:ssh:\/\/)?git@([a-z0-9.-]+)(?::\d+\/|[:/])([\w./~-]+?)(?:\.git)?\/?$/i

/**
 * The web address of a remote, without the credentials that it may carry; null for remotes that are no web forge,
 * such as a path.
 */
export function webAddressOf(remote: string | null): string | null {
  const [, host, path] = httpsRemote.exec(remote ?? '') ?? sshRemote.exec(remote ?? '') ?? []
  return host === undefined || path === undefined ? null : `https://${host.toLowerCase()}/${path}`
}

/** Where a forge shows the commits of one file; the repository itself where the forge is not known. */
export function fileHistoryUrl(repositoryUrl: string, file: string): string {
  const { host } = new URL(repositoryUrl)
  if (host === 'github.com') return `${repositoryUrl}/commits/HEAD/${file}`
  return host === 'gitlab.com' ? `${repositoryUrl}/-/commits/HEAD/${file}` : repositoryUrl
}
