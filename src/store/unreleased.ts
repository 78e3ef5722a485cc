/** `ford`: what the databases of builds from before 1.0.0, the first release, have as their application id. */
const UNRELEASED_ID = 0x666f7264

/** The database was made by a build from before the first release, whose schemas no release knows. */
class UnreleasedDatabase extends Error {
  override name = 'UnreleasedDatabase'
}

/** Throws UnreleasedDatabase where the application id of a file is that of a database from before 1.0.0. */
export function refuseUnreleased(application_id: number | undefined, file: string): void {
  if (application_id === UNRELEASED_ID)
    throw new UnreleasedDatabase(
      `${file} was made by a build of forumd from before 1.0.0, which was never released, and cannot be brought up to date: keep to that build, or begin with a new folder in [storage].dir`,
    )
}
