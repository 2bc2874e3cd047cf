# SPDX-License-Identifier: Apache-2.0
"""Training of HSTU ranking models in torch, and their export to hstu.cpp's model folder."""
