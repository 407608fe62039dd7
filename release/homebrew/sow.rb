# A template, not run: nobody has installed sow with Homebrew yet, and sow has not been run on macOS.
#
# To make a formula of it: put it into a tap as Formula/sow.rb, replace what stands in <…>
# (docs/releasing.md says where the values come from), and have Homebrew write the resources:
#
#     brew update-python-resources Formula/sow.rb
#     brew install --build-from-source Formula/sow.rb && brew test sow && brew audit --new sow
class Sow < Formula
  include Language::Python::Virtualenv

  desc "Run coding-agent CLIs as queued jobs"
  homepage "<the repository's address>"
  url "<the sdist's address: …/sow_agents-VERSION.tar.gz>"
  sha256 "<the sdist's, as `sha256sum dist/*` prints it>"
  license "MIT"

  depends_on "libyaml"
  depends_on "python@3.13"

  # brew update-python-resources writes them here: click, huey, msgspec, platformdirs, psutil, PyYAML,
  # textual and what these need.

  def install
    virtualenv_install_with_resources
    generate_completions_from_executable(bin/"sow", "completion", shells: [:bash, :zsh, :fish])
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/sow --version")
    system bin/"sow", "demo"
  end
end
