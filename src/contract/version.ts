/** A test checks that package.json and CHANGELOG.md contain the same version. */
export const version = '0.1.0'
