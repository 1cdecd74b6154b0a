/** Which documents are articles of the desk. Their readers are counted without cookies. */

/** The page of an article and its Markdown. `SKILL.md` and the feed do not match: slugs are lower-case. */
const articlePath = /^\/desk\/([a-z0-9]+(?:-[a-z0-9]+)*)(?:\.md)?$/

/** The slug of the article that lies at a site path, or null where it is something else. */
export function articleSlug(path: string): string | null {
  return articlePath.exec(path)?.[1] ?? null
}
