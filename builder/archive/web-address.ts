const httpsRemote = /^https:\/\/(?:[^@/\s]*@)?([a-z0-9.-]+(?::\d+)?)\/([\w./~-]+?)(?:\.git)?\/?$/i
const sshRemote = /^(?:ssh:\/\/)?git@([a-z0-9.-]+)(?::\d+\/|[:/])([\w./~-]+?)(?:\.git)?\/?$/i

/** Drops credentials; null for remotes that are not on a web forge. */
export function webAddressOf(remote: string | null): string | null {
  const [, host, path] = httpsRemote.exec(remote ?? '') ?? sshRemote.exec(remote ?? '') ?? []
  return host === undefined || path === undefined ? null : `https://${host.toLowerCase()}/${path}`
}

/** The commits of one file, or the repository when the forge is unknown. */
export function fileHistoryUrl(repositoryUrl: string, file: string): string {
  const { host } = new URL(repositoryUrl)
  if (host === 'github.com') return `${repositoryUrl}/commits/HEAD/${file}`
  return host === 'gitlab.com' ? `${repositoryUrl}/-/commits/HEAD/${file}` : repositoryUrl
}
